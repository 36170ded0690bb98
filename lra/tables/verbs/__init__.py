"""The verbs over many runs."""
