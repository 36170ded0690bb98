"""Probes: small generated tasks, each a pure function of a random generator, and the source that stores them."""
