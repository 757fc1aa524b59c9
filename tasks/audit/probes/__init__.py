"""Probes of the rewards: completions of known quality, and what they must earn."""
