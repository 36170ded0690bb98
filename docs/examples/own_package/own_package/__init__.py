"""An attention, a mixer and a task outside of lra."""
