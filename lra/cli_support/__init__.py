"""Parts that the verbs share: checks of what the user types, output, campaigns of runs, stored configurations."""
