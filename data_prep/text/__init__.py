"""Text: IMDb reviews as bytes."""
