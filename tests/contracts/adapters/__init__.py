"""Contracts of the benchmark's adapters with the real packages, in `.venv-adapters`: `make test-adapters`."""
