"""Benchmark for others: a seeded test of the six tasks, scorers without heavy libraries, and adapters."""
