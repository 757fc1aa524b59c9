"""Tables, documents and configuration that cross stages; imports nothing else of the project."""
