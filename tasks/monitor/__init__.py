"""What the served model answers: production rewards, drift from its evaluation, and the retraining trigger."""
