"""Contract of a written package with the real verifiers, in `.venv-verifiers`: `make test-environment`."""
