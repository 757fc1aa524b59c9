"""Completions whose worth is known without asking anybody: what the probes and the tests of the rewards are made of."""
