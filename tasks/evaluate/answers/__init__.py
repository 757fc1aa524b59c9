"""Answers of each model to the test split, and what they cost."""
