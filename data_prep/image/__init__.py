"""Image: CIFAR-10 in grey."""
