"""Sequence mixers other than attention, one file each; `lra.model.mixer.SequenceMixer` is their contract."""
