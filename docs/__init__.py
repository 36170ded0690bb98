"""The documents, and what makes parts of them."""
