"""Configuration of a run, section by section, and its profiles."""
