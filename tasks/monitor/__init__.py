"""Production monitoring of the served model: rewards, drift from its evaluation, and the retraining trigger."""
