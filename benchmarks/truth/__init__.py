"""Rewards that cannot be had without the work."""
