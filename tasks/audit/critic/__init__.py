"""Critic of the rewards: bad answers that look good, good answers in other words, and what each of them loses."""
