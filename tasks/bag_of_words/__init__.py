"""Bag of words, which a tuned model has to beat: trained on the same rows in seconds, and the base's JSON repaired."""
