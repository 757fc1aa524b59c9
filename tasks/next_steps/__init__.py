"""Next steps after a hold: what would help, computed from what a run left."""
