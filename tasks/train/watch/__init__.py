"""Callbacks of a training: validation, alarms, checkpoints, reports."""
