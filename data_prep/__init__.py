"""Make prepared stores from public archives or generators, with one TFDS builder per dataset."""
