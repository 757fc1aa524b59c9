"""Screens in the terminal: `tucano audit label` and `tucano audit references`."""
