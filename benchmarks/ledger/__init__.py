"""Capability ledger."""
