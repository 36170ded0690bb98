"""From a public source or a generator to a prepared store: one TFDS builder per dataset."""
