"""Lineage: immutable artifacts, the version of the source, and MLflow's record of every run."""
