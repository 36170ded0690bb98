"""Training: the LightningModule, the training run, callbacks, checkpoints and loggers."""
