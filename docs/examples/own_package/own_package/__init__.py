"""What lra finds outside of itself."""
