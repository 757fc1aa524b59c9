"""From a store, simulated or Olist's, to prompts with their references."""
