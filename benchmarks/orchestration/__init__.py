"""Orchestration overhead of the whole job."""
