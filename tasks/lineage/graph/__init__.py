"""Lineage graph: artifacts, rows, trainings and models, and the walks along them."""
