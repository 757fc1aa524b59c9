"""The libraries that only a card can use as they are, run for real on a CPU, each in an environment of its own."""
