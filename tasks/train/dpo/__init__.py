"""DPO on pairs of completions that the rewards order."""
