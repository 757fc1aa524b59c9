"""Training compared with TRL's."""
