"""Completions of known quality, used by the probes and by the tests of the rewards."""
