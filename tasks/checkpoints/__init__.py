"""Checkpoints that survive the machine: an object store, and a mirror in it with complete checkpoints only."""
