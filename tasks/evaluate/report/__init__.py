"""Evaluation report as page, Markdown and model card."""
