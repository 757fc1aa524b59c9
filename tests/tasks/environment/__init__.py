"""Tests of `tasks.environment`."""
