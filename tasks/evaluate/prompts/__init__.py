"""Search for the base's best prompt."""
