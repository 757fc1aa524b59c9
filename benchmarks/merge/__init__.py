"""Rounding of a merged model."""
