"""Gateway: HTTP in front of an engine, with the tasks, the limits and the log of a shop."""
