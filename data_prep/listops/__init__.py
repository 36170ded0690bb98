"""ListOps: the seeded generator, the reader of the benchmark's own files, the TFDS builder."""
