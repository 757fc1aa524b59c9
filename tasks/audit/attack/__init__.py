"""Exploit search: completions that a reward pays for and an independent measure calls bad."""
