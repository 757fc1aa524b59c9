"""Lineage of a local retraining."""
