"""One thread that does the newest of what it is asked."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.checkpoints.checkpoint_manager import LatestJobWorker

LONG = 60
"""Seconds after which a test has failed that waits for something."""


class Work:
    """Work that begins and ends when a test says so."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.at_work = 0
        self.most_at_work = 0
        self.begun = threading.Event()
        self.may_end = threading.Event()

    def __call__(self, job: str) -> None:
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        self.begun.set()
        assert self.may_end.wait(LONG)
        self.done.append(job)
        self.at_work -= 1
        if job.startswith("bad"):
            raise ValueError(job)


@pytest.fixture
def work() -> Iterator[Work]:
    work = Work()
    yield work
    work.may_end.set()


def _under_way(work: Work) -> LatestJobWorker[str]:
    """Return a thread that is at a job, so that all others wait."""
    background = LatestJobWorker[str]("test", work)
    background.submit("first")
    assert work.begun.wait(LONG)
    return background


def test_of_those_that_wait_the_newest_of_its_kind_is_done(work: Work) -> None:
    background = _under_way(work)
    for job in ("second", "third", "fourth"):
        background.submit(job)
    assert background.unfinished() == ["first", "fourth"]
    work.may_end.set()
    assert background.wait(LONG)
    assert work.done == ["first", "fourth"]
    assert work.most_at_work == 1


def test_another_kind_is_not_displaced(work: Work) -> None:
    background = _under_way(work)
    background.submit("best of 2", "best")
    background.submit("newest of 3")
    background.submit("newest of 4")
    work.may_end.set()
    assert background.wait(LONG)
    assert work.done == ["first", "best of 2", "newest of 4"]


def test_a_newer_job_of_a_kind_waits_behind_what_was_asked_for_before_it(work: Work) -> None:
    background = _under_way(work)
    background.submit("best of 2", "best")
    background.submit("newest of 3")
    background.submit("best of 4", "best")
    work.may_end.set()
    assert background.wait(LONG)
    assert work.done == ["first", "newest of 3", "best of 4"]


def test_waiting_ends_with_its_time_and_tells_that_something_is_left(work: Work) -> None:
    background = _under_way(work)
    assert not background.wait(0.01)
    assert not background.wait(0)
    work.may_end.set()
    assert background.wait(LONG)
    assert background.unfinished() == []


def test_a_failure_is_kept_until_a_job_succeeds_and_ends_nothing(work: Work) -> None:
    work.may_end.set()
    background = LatestJobWorker[str]("test", work)
    for job, failure in (("bad one", "bad one"), ("bad two", "bad two"), ("good", "None")):
        background.submit(job)
        assert background.wait(LONG)
        assert str(background.failure) == failure
    assert work.done == ["bad one", "bad two", "good"]


def test_closing_waits_for_the_job_under_way_and_drops_the_others(work: Work) -> None:
    background = _under_way(work)
    background.submit("second")
    threading.Timer(0.05, work.may_end.set).start()
    background.close()
    assert work.done == ["first"]
    assert background.wait(0)


def test_closing_may_leave_the_job_under_way_behind(work: Work) -> None:
    background = _under_way(work)
    background.close(0.01)
    assert work.done == []


@settings(deadline=None, max_examples=30)
@given(jobs=st.lists(st.tuples(st.sampled_from(["newest", "best"]), st.integers(0, 99)), max_size=20))
def test_the_last_of_every_kind_is_done_and_none_twice_and_each_kind_in_order(jobs: list[tuple[str, int]]) -> None:
    done: list[tuple[int, str, int]] = []
    background = LatestJobWorker[tuple[int, str, int]]("test", done.append)
    for number, (kind, value) in enumerate(jobs):
        background.submit((number, kind, value), kind)
    assert background.wait(LONG)
    background.close()
    assert len(set(done)) == len(done)
    for kind in ("newest", "best"):
        asked = [(number, *job) for number, job in enumerate(jobs) if job[0] == kind]
        found = [job for job in done if job[1] == kind]
        assert found == sorted(found)
        assert found[-1:] == asked[-1:]
