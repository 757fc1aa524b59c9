"""Load, switches and kills of `tucano serve`."""
