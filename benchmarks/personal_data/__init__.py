"""Removal of personal data from texts that were written apart from the patterns."""
