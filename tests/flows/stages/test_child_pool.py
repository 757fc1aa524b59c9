"""Several children at once: no more than allowed, each to its end, and none left after Ctrl-C."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pydantic import BaseModel

from flows.stages.child_pool import ChildPool
from schemas.errors import InputError, Interrupted
from schemas.progress import silent
from tests.flows.prefect_state import prefect_state

pytestmark = pytest.mark.integration

MODULE = "tests.tasks.policy.example_child"


class Request(BaseModel):
    do: str


class SavingRequest(BaseModel):
    sibling: Path


@pytest.fixture(autouse=True)
def prefect(prefect_server: str, tmp_path: Path) -> Iterator[None]:
    with prefect_state(prefect_server, tmp_path):
        yield


def test_no_more_than_allowed_are_at_work_whoever_starts_them(tmp_path: Path) -> None:
    pool = ChildPool(2)
    at_work, most, lock = 0, 0, threading.Lock()
    two_at_work = threading.Barrier(2)

    def count(change: int) -> None:
        nonlocal at_work, most
        with lock:
            at_work += change
            most = max(most, at_work)

    def child(folder: Path) -> None:
        def progress(done: int, total: int, text: str) -> None:
            # The example's first report says that it is at work, and its second that it is done.
            count(1 if done < total else -1)
            if done < total:
                two_at_work.wait(timeout=60)

        pool.run_child(MODULE, Request(do="work"), folder, interpreter=None, progress=progress)

    def seed(name: str) -> str:
        pool.map({f"{name}-{task}": partial(child, tmp_path / name / task) for task in ("push", "churn")})
        return name

    assert pool.map({name: partial(seed, name) for name in ("one", "two")}) == {"one": "one", "two": "two"}
    assert (at_work, most) == (0, 2)


def test_all_come_to_their_end_before_the_first_failure_is_reported() -> None:
    done: list[str] = []

    def fail(seconds: float, reason: str) -> None:
        time.sleep(seconds)
        raise InputError(reason)

    late, early = partial(fail, 0.3, "the first in order"), partial(fail, 0.0, "the first in time")
    with pytest.raises(InputError, match="the first in order"):
        ChildPool(1).map({"late": late, "early": early, "good": partial(done.append, "good")})
    assert done == ["good"]


def test_an_interruption_is_reported_before_a_failure_and_nothing_else_begins_on_a_machine_that_goes(
    tmp_path: Path,
) -> None:
    begun: list[str] = []

    def refused() -> None:
        begun.append("refused")
        raise InputError("this one is bad")

    pool = ChildPool(1)

    def interrupted() -> None:
        pool.run_child(MODULE, Request(do="killed"), tmp_path, interpreter=None, progress=silent)

    with pytest.raises(Interrupted, match="was killed by SIGKILL at 0 of 0"):
        pool.map({"a": refused, "b": interrupted, "c": lambda: begun.append("c")})
    assert begun == ["refused"]


def test_ctrl_c_asks_all_children_before_it_waits_for_any_and_starts_no_other(tmp_path: Path) -> None:
    """A machine that is taken away gives all of them the same few seconds."""
    pool = ChildPool(2)
    siblings = {"one": "two", "two": "one"}

    def train(name: str) -> None:
        request = SavingRequest(sibling=tmp_path / siblings[name])
        pool.run_child("tests.flows.saving_child", request, tmp_path / name, interpreter=None, progress=silent)

    def interrupt() -> None:
        while not all((tmp_path / name / "ready").exists() for name in siblings):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    begun: list[str] = []
    works = {name: partial(train, name) for name in siblings} | {"three": partial(begun.append, "three")}
    with pytest.raises(KeyboardInterrupt):
        pool.map(works)
    assert all((tmp_path / name / "saved").exists() for name in siblings)
    with pytest.raises(Interrupted, match="run the same command again"):
        pool.map({"four": partial(begun.append, "four")})
    assert begun == []
