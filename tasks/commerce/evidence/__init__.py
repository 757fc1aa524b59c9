"""Answers that carry their evidence: claims that code checks, and the proof-read sentences that say them."""
