"""ListOps: the seeded generator, the reader of the benchmark's files, the source."""
