"""Prompts from a simulated store."""
