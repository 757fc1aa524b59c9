"""Detectors of personal data in a normalized text, by kind."""
