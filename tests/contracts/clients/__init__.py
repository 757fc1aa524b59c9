"""Contracts of the gateway with OpenAI's clients as they ship, in `.venv-clients`: `make test-clients`."""
