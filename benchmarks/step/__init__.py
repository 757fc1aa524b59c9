"""Step of our trainer beside TRL's."""
