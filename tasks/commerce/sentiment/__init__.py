"""Sentiment: polarity and stars of a review."""
