"""Push: campaigns, and the proof-read phrases that make their offer."""
