"""Export of a registered version as files that other programs read, each proven by reading it back."""
