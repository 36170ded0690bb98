"""Sequence mixers that are no attention, one file each; the contract is `lra.model.mixer.SequenceMixer`."""
