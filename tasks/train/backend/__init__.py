"""Base model and adapter as a trainer takes them, by backend, and the versions that this needs."""
