"""Dataset curation: prompts are validated, deduplicated, and split without leakage."""
