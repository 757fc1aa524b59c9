"""Evidence: what the tasks share whose answers are claims and phrases that code checks."""
