"""Load, kills and hostile clients of `tucano serve`."""
