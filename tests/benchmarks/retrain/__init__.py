"""Tests of the benchmark of the whole job."""
