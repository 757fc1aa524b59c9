"""Plan of a training: cheap ways made first, judged on the validation split, printed, and asked about."""
