"""Forgetting compared with trainings that never saw a person."""
