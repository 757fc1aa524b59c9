"""What a tuned model has to beat: a bag of words trained on the same rows in seconds, and the base's JSON repaired."""
