"""Plan of a training before it is paid: what cheap ways reach on the validation split, and whether more is worth it."""
