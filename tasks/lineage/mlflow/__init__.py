"""MLflow's record of runs, models, judgements and reviews."""
