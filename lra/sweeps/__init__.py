"""Many runs as one thing: the grid of their cells, who runs which, what they will cost."""
