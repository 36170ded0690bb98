"""Results: one record per run, and the tables, figures and reports that are made from records alone."""
