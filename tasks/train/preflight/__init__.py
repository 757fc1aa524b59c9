"""Preflight: two minutes of checks before a training of 22 hours."""
