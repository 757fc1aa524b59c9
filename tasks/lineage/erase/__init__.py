"""Reach of a person's data: every artifact and model that holds it or was made from it."""
