"""The six tasks that the model learns, one module each: prompt, reference answer, reward and ground-truth metric."""
