"""Checks that a GPU trains, validates, resumes, evaluates and merges as a CPU does, and measurements of its cost.

Everything runs on models of the real shapes with random weights, so nothing is downloaded. Each group of checks is a
process of its own, for Unsloth changes TRL, and vLLM never frees its memory.
"""
