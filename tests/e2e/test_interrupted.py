"""A retraining that signals and the loss of its server end at once, and that resumes."""

import signal
from pathlib import Path

import pytest

from benchmarks.checkpoints.commands import Blow, strike, verdict

pytestmark = [pytest.mark.e2e, pytest.mark.long]


def test_a_retraining_ends_at_any_signal_and_where_its_server_is_lost(tmp_path: Path) -> None:
    """In the audit the sandbox's callbacks lost signals; without its server a run went on for minutes."""
    blows = [
        Blow("audit: begins", 0.5, signal.SIGTERM),
        Blow("audit: audit .* in ", 0.0, signal.SIGINT),
        Blow("base: begins", 1.0, signal.SIGKILL, "server"),
        Blow("audit: skipped", 0.0, signal.SIGSTOP, "server", then=signal.SIGTERM),
        Blow("base: ./", 0.5, signal.SIGTERM),
    ]
    for blow in blows:
        struck = strike(tmp_path / "state", blow)
        assert verdict(blow, struck) == "yes", struck
