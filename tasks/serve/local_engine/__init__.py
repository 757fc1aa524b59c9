"""Laptop's own engine: a child process that loads a model on the CPU and serves OpenAI's API on a Unix socket."""
