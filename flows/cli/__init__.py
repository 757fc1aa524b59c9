"""The `tucano` command."""

from flows.cli.tucano import main

__all__ = ["main"]
