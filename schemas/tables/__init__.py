"""Tables that cross a stage: prompts, rollouts, sheets, logs."""
