"""Speed of SQL questions and their scoring."""
