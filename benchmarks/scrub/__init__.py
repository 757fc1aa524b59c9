"""Recall of the scrubbing of personal data."""
