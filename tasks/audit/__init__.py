"""Audit of the rewards against people's scores; the gate before training."""
