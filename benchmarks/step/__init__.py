"""Step of our trainer beside TRL's, and what the engine that samples for ours is exact about."""
