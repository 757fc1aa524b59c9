"""Bag of words: a linear classifier that a tuned model has to beat, trained on the same rows in seconds."""
