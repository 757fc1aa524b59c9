"""Tests of the scaling benchmark."""
