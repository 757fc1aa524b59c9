"""The pipeline that several folders of tests share; it is run once a session."""

from tests.small_pipeline import pipeline

__all__ = ["pipeline"]
