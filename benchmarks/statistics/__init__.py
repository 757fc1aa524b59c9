"""Error rates of comparisons and of the promotion gate."""
