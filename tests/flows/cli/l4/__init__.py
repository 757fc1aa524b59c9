"""Tests of `tucano l4` where it has a job train."""
