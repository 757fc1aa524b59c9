"""Guided decoding: its form and its time."""
