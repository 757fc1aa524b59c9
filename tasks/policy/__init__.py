"""Policy: tokenizer, weights, adapters, chat template and batched generation; and the laptop's stand-in model."""
