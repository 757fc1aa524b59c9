"""SFT warm start and GRPO; each runs as a child process that reads everything from its request file."""
