"""Path-X: Pathfinder with 128 × 128 pixels."""
