"""Hostile requests to the gateway: what they are answered, and what they leave behind."""
