"""Checkpoints that survive the machine: an object store, and a mirror in it that is whole or not there."""
