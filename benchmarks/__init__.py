"""What the README's figures rest on: one module a benchmark, each run by `make bench NAME=...`."""
