"""Tests of the parts of a report."""
