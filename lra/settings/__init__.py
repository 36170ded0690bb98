"""Settings: what options there are, and the one check of a composed configuration."""
