"""Scoreboard of every model that was run, with every rung."""
