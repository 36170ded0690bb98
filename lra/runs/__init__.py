"""What a run's folder holds: its files, the record and its schema."""
