"""The SFT warm start and GRPO: each runs as a child process, driven wholly by its request."""
