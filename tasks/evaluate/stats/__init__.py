"""Paired statistics: pairs, effects, intervals, tests, sample sizes."""
