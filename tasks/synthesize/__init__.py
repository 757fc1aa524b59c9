"""Synthesis of prompts with references from a store, simulated or Olist's."""
