"""Browser of completions: how soon a page of many rollouts opens and answers."""
