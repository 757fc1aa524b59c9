"""The tasks that the model learns, one package each: prompts, reference answer, reward and ground-truth metric."""
