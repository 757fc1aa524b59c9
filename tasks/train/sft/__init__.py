"""Supervised fine-tuning: the warm start of the base stage."""
