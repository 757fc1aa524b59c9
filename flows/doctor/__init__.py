"""Checks of what this machine can run: `tucano doctor`."""
