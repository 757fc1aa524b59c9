"""Extraction: ten fields of a review, whose complaint is copied from it."""
