"""Recognition of a shop's columns: what `tucano init` looks at, chooses, and writes as a column map and a profile."""
