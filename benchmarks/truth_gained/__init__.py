"""Ground truth that five trainings of the stand-in gain, beside the best constant and the count of distinct answers."""
