"""The verbs of the tools."""
