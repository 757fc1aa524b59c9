"""A shop's own files, read through a column map: the tables of a store, and rows that are prompts."""
