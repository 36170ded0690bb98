"""Statistics of the comparison: what is significant, intervals, seeds needed, rank correlation."""
