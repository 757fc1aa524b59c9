"""Insights whose findings are claims on the table: the form that is to take the place of the prose."""
