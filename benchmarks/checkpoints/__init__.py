"""Cost of checkpoints."""
