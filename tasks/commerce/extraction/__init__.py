"""Extraction: ten fields of a review."""
