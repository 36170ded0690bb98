"""An attention, a mixer and a task of one's own, beside lra."""
