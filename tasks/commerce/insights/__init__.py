"""Insights: tables of facts, and the analysis that quotes them."""
