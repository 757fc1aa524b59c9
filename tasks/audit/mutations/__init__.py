"""Bugs that somebody could write into the rewards, one at a time."""
