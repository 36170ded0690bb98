"""What a run's folder holds: files, lock, failure, the record and its schema."""
