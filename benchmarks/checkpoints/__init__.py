"""Checkpoints: their cost, and what is kept when workers die, storage fails and machines are taken away."""
