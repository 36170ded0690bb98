"""What the verbs of the command line are made of: checks of what is typed, output, campaigns, stored configurations."""
