"""What several folders of tests share, made once a session, and the threads that a process of tests may use."""

import os

from tests.prefect_server import prefect_server
from tests.small_pipeline import pipeline

__all__ = ["pipeline", "prefect_server"]

# Processes with a thread for each core would wait for one another; children inherit it, and torch reads it on import.
os.environ.setdefault("OMP_NUM_THREADS", "1")
