"""Prompts and rewards as a package that other trainers load, and models that they made, as policies of ours."""
