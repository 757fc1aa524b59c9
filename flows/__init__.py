"""Prefect flows, one for each stage; `retrain` chains them, `cli` is the `tucano` command."""
