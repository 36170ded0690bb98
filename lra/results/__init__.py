"""Results: one record per run, and what is made from records alone."""
