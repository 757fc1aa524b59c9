"""Child processes of the train stage, one an algorithm."""
