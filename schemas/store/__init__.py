"""Store that prompts are made from: Olist's tables, their files and their checks."""
