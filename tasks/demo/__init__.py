"""Demo: what `make demo` shows of the shipped run."""
