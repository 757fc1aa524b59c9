"""Benchmarks behind the documented figures: a package each, run by `make bench NAME=...`, on one harness."""
