"""A job that was refused is ended, and one from which only this machine was taken away goes on."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from flows.cli.l4 import _train
from flows.l4 import waiting
from flows.retrain import TRAINED_FROM
from flows.stages.runner import Results
from schemas.errors import GateRefused, InputError, Interrupted, TucanoError
from tests.flows.l4.test_job import given, rented

__all__ = ["given"]


@pytest.mark.parametrize(("error", "ends"), [(InputError("no"), 1), (GateRefused("no"), 1), (Interrupted("later"), 0)])
def test_only_an_interruption_leaves_the_job_at_work(
    error: TucanoError, ends: int, given: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = Mock(until_done=Mock(side_effect=error))
    monkeypatch.setattr(waiting, "Waiting", lambda *_: wait)
    laptop = rented(tmp_path, places={"mirror": str(tmp_path / "mirror"), "artifacts": str(tmp_path / "shared")})
    service: Any = SimpleNamespace(folder=Path("/state"), interpreter=None)
    with pytest.raises(type(error)):
        _train(laptop, service, {name: given[role] for role, name in TRAINED_FROM.items()}, None, yes=True)
    assert wait.end.call_count == ends
