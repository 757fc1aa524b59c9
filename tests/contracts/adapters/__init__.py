"""Contract of the benchmark's adapter with the real package, in `.venv-adapters`: `make test-adapters`."""
