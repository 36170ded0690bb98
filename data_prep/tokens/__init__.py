"""A user's own task: token sequences and labels from one CSV or NPZ file."""
