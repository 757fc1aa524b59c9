"""Stages of a retraining, each a flow that makes one artifact or takes the one that it made before."""
