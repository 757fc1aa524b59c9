"""Insights: tables of figures, and findings on their cells that code checks and data says."""
