"""Fixtures of the tests of scripts."""

from tests.infra.cloud import cloud

__all__ = ["cloud"]
