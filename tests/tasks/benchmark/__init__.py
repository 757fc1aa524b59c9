"""Tests of the benchmark for others."""
