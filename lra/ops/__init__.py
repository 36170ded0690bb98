"""Pure functions on tensors; each names its paper, and has a slow reference implementation in tests/reference."""
