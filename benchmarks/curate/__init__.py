"""Curation of a million prompts."""
