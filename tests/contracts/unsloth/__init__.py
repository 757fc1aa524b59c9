"""Contract with Unsloth's own GRPO trainer, without a GPU: `make test-unsloth` runs it."""
