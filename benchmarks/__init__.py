"""Benchmarks behind the documented figures: one module each, run by `make bench NAME=...`."""
