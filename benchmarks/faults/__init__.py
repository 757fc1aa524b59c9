"""Checkpoints on an unreliable storage service."""
