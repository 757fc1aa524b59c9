"""Workers that die beside a storage service at its worst: the benchmark's run, in small."""

from pathlib import Path

import pytest

from benchmarks.checkpoints.checks import Verdict, check
from benchmarks.checkpoints.course import run_courses
from tasks.checkpoints.mirror import Mirror
from tests.tasks.checkpoints.checkpoint_folders import OLD, publish
from tests.tasks.checkpoints.conftest import MemoryStore

FAULTS = 30


@pytest.mark.integration
def test_of_what_was_reported_as_saved_nothing_is_lost_and_nothing_else_is_resumed_from(tmp_path: Path) -> None:
    verdict = Verdict()
    courses = run_courses(tmp_path, courses=3, faults=FAULTS, rate=0.05, seed=1, seconds_of_delay=0.5)
    for course in courses:
        check(course, verdict)
    assert {promise: cases for promise, cases in verdict.broken.items() if cases} == {}
    # Something did go wrong, and something was saved and found.
    assert sum(sum(course.faults.values()) for course in courses) >= FAULTS
    assert verdict.counts["reported as saved"] > 0
    assert verdict.counts["searches that found one"] > 0


def test_a_worker_that_was_frozen_before_it_pinned_takes_no_pin_from_its_successor() -> None:
    store = MemoryStore()
    frozen, successor = Mirror(store, "", "train-1"), Mirror(store, "", "train-1")
    its = publish(frozen, 10, OLD, fencing=1)
    best = publish(successor, 20, OLD, fencing=2)
    successor.pin("best", best)
    frozen.pin("best", its)
    assert successor.pins() == {"best": best.name}
    later = publish(successor, 30, OLD, fencing=2)
    successor.prune(1)
    assert [manifest.name for manifest in successor.manifests()][:2] == [later.name, best.name]
    successor.pin("best", later)
    assert [stored.key for stored in store.list("train-1/pins/")] == [f"train-1/pins/best/{later.name}"]
