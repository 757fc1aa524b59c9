"""What runs, in order: one flow a stage, `retrain` chains them, `cli` is the `tucano` command."""
