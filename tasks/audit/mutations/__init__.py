"""Plausible bugs of the rewards, one at a time."""
