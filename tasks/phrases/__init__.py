"""Openers of pushes by people: a model proposes, a person approves, and the shop's own file grows."""
