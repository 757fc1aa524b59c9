"""Stand-in: the laptop's base model, trained once from seeds and shipped in `data/stand_in`."""
