"""Boundary mutants of the reward code, and the audit that must object to them."""
