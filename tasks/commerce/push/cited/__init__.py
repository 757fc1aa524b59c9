"""Pushes in proof-read phrases with merge fields: the form that is to take the place of the prose."""
