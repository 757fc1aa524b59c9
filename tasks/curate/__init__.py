"""From prompts to a dataset: validated, without duplicates, split without leakage."""
