"""Compiled wheels beside the trainer's torch."""
