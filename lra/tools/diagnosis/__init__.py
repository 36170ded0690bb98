"""How far attention is from exact softmax attention: errors of its matrices, and what a model makes of them."""
