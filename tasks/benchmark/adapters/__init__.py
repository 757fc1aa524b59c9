"""Adapters of the benchmark: lm-evaluation-harness, Inspect and verifiers, each of which gives the scorers' rewards."""
