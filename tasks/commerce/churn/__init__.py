"""Churn: risk that a shopper never buys again."""
