"""Readers of texts that several tasks share: JSON, numbers, prose, word lists and wordings."""
