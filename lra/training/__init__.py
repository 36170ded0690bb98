"""Training: the LightningModule, its loop, callbacks and loggers."""
