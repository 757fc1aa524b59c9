"""Error rates of comparisons."""
