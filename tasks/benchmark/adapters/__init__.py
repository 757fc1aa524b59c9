"""Adapter of the benchmark for lm-evaluation-harness, which gives the scorers' rewards."""
