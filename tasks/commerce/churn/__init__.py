"""Churn: risk that a shopper never buys again, and the lines of the profile that say so."""
