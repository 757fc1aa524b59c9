"""Adapter for lm-evaluation-harness: a task by its YAML file, whose docs and scores are the benchmark's."""
