"""Rewards against people's scores; the gate before training."""
