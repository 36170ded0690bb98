"""Slow twins: each written from its paper, materialised and plain, to hold the fast code against."""
