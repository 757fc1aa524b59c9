"""Promotion, refusal, force and rollback."""
