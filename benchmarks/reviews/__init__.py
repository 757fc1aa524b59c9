"""Simulated store beside a real sample."""
