"""Preemption at any moment without loss."""
