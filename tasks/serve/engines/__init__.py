"""Engines that draw the answers, each behind an OpenAI-compatible address."""
