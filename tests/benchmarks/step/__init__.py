"""Tests of the step benchmark."""
