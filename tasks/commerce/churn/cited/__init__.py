"""Churn with cited reasons: lines of the profile, each with the way that it points, which code checks and data says."""
