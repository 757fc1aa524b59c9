"""Tables and lists that the commands print."""
