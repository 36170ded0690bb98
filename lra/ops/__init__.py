"""Pure functions on tensors: each names its paper, and has a slow twin in tests/reference."""
