"""Import time of the benchmark's scorers."""
