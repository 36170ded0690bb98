"""Models of other packages as ours and back, and trained models of ours as files that need no training code."""
