"""What is printed: console, tables that fit, progress, one line for an error."""
