"""Reward by minutes, at four times the steps and prompts."""
