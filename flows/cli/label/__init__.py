"""Scoring of an audit sheet in the terminal: `tucano audit label`."""
