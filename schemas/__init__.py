"""Every table, document and configuration that crosses a stage; imports nothing else of the house."""
