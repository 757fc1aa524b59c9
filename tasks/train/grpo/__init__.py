"""GRPO: sampling, rewards, trainer and the log of its rollouts."""
