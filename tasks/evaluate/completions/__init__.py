"""Browser of completions: one page with every answer to the test and every rollout of the trainings."""
