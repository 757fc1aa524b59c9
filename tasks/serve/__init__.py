"""Answers of a registered version to a shop's prompts."""
