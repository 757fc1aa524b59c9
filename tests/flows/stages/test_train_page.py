"""The parent's page of a training: metrics reach MLflow in batches, alarms whoever looks, and the child never waits."""

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from flows.stages import train_page
from flows.stages.train_page import TrainingPage
from schemas.errors import InputError
from schemas.progress import silent
from tasks.policy.child import run_child
from tests.tasks.policy.test_child import MODULE, Request

SOON = 0.01
NEVER = 600.0
"""Seconds between writes."""


class Recording:
    """Stands for the stage's run in MLflow: keeps what it gets, slowly or not at all where it is asked to."""

    def __init__(self, seconds: float = 0.0, failures: int = 0) -> None:
        self._seconds = seconds
        self._failures = failures
        self.writes: list[list[tuple[int, Mapping[str, float]]]] = []
        self.tried = threading.Event()

    def log_steps(self, steps: Iterable[tuple[int, Mapping[str, float]]]) -> None:
        steps = list(steps)
        if not steps:
            return
        time.sleep(self._seconds)
        self.tried.set()
        if self._failures:
            self._failures -= 1
            raise RuntimeError("database is locked")
        self.writes.append(steps)

    @property
    def steps(self) -> list[int]:
        return [step for write in self.writes for step, _ in write]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    lines: list[str] = []
    monkeypatch.setattr(train_page, "warn", lambda text, of: lines.append(f"{of}: {text}"))
    yield lines


def _page(run: Any, seconds: float) -> TrainingPage:
    return TrainingPage(run, "train-seed5", seconds_between_writes=seconds)


@pytest.mark.integration
def test_the_child_does_not_wait_for_a_parent_whose_mlflow_is_slow(tmp_path: Path) -> None:
    """100 steps of 5 kB are eight times what the pipe holds: a parent that wrote before it read on would take 20 s."""
    run = Recording(seconds=0.2)
    with _page(run, SOON) as page:
        run_child(MODULE, Request(do="steps"), tmp_path, interpreter=None, progress=silent, metrics=page.metrics)
    assert run.steps == list(range(100))
    assert float((tmp_path / "seconds").read_text(encoding="utf-8")) < 5.0


def test_metrics_that_mlflow_did_not_take_are_kept_in_order_and_said_once(said: list[str]) -> None:
    run = Recording(failures=3)
    with _page(run, SOON) as page:
        page.metrics(1, {})
        assert run.tried.wait(10)
        page.metrics(2, {})
        while run._failures:
            time.sleep(SOON)
    assert run.steps == [1, 2]
    assert said == ["train-seed5: MLflow cannot record metrics now (database is locked); they are kept and tried again"]


def test_metrics_that_mlflow_never_takes_fail_the_stage_but_hide_no_other_failure(said: list[str]) -> None:
    with pytest.raises(RuntimeError, match="database is locked"), _page(Recording(failures=10**9), NEVER) as page:
        page.metrics(1, {})
    with pytest.raises(InputError, match="out of memory") as caught, _page(Recording(failures=10**9), NEVER) as page:
        page.metrics(1, {})
        raise InputError("out of memory")
    assert caught.value.__notes__ == ["MLflow could not record the last metrics of train-seed5: database is locked"]
    assert said == []


def test_an_alarm_is_said_under_its_trainings_name(said: list[str]) -> None:
    with _page(Recording(), NEVER) as page:
        page.alarm("ceiling", 12, "too long; allow more")
    assert said == ["train-seed5: alarm ceiling at step 12: too long; allow more"]
