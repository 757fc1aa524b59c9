"""Alterations of a good answer, each with the bound that a reward must keep, and what runs over them."""
