"""Extraction whose complaint is copied from the review: the form that is to take the place of free words."""
