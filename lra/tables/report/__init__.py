"""The report of a run group: its summary, sections, lines of runs and samples, and the page with all of them."""
