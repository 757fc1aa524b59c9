"""The notice that a machine will be taken away: by the metadata server, and by signals."""

import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.train.resume import preemption
from tasks.train.resume.preemption import Preemption
from tests.tasks.train.metadata_server import PATH, MetadataServer, metadata_server

LONG = 60
"""Seconds after which a test has failed that waits for something."""


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def server() -> Iterator[MetadataServer]:
    with metadata_server() as running:
        yield running


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(preemption, "SECONDS_BETWEEN_FAILURES", 0.05)
    monkeypatch.setattr(preemption, "SECONDS_BETWEEN_ANSWERS", 0.01)
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)


def test_the_notice_comes_when_the_value_turns_true(server: MetadataServer) -> None:
    noticed = Preemption(25, server.url)
    noticed.watch()
    assert server.waiting.wait(LONG)
    assert not noticed.noticed.is_set()
    assert noticed.seconds_left() == float("inf")
    server.set(b"TRUE\n")
    assert noticed.noticed.wait(LONG)
    assert noticed.announced
    assert 0 < noticed.seconds_left() <= 25
    assert {(asked.path, asked.flavor, asked.waited) for asked in server.asked} == {(PATH, "Google", True)}


@pytest.mark.parametrize("garbage", [b"", b"true", b"\xff\x00<html>", b"TRUE or not", b"0" * 10_000])
def test_garbage_is_reported_once_and_is_no_notice_and_does_not_end_the_watch(
    server: MetadataServer, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers = [garbage, garbage]
    noticed = Preemption(25, server.url)
    with caplog.at_level(logging.WARNING):
        noticed.watch()
        assert server.waiting.wait(LONG)
    assert len([record for record in caplog.records if f"{server.url} does not answer" in record.message]) == 1
    assert not noticed.noticed.is_set()
    server.set(b"TRUE")
    assert noticed.noticed.wait(LONG)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/preempted", "no address at all"])
def test_a_server_that_is_down_is_reported_once_and_a_signal_still_counts(
    url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    often = threading.Event()
    ask = preemption._ask

    def counting(*arguments: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked == 4:
            often.set()
        return ask(*arguments)

    monkeypatch.setattr(preemption, "_ask", counting)
    noticed = Preemption(25, url)
    with caplog.at_level(logging.WARNING):
        noticed.watch()
        assert often.wait(LONG)
        signal.raise_signal(signal.SIGTERM)
    assert noticed.noticed.is_set()
    assert not noticed.announced
    # The watch of an earlier test may still find that its own server has gone.
    assert len([record for record in caplog.records if f"{url} does not answer" in record.message]) == 1


@given(calls=st.lists(st.floats(0, 40), min_size=1, max_size=5))
def test_the_first_notice_starts_the_clock(calls: list[float]) -> None:
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preemption, "time", clock)
        noticed = Preemption(25)
        noticed.notice()
        for pause in calls:
            clock.sleep(pause)
            noticed.notice()
            assert noticed.seconds_left() == pytest.approx(max(0.0, 25 - (clock.now - 100)))


CHILD = """
import signal, sys, time
from tasks.train.resume.preemption import Preemption

noticed = Preemption(25)
noticed.watch()
print("watching", flush=True)
for _ in range(int(sys.argv[1])):
    sys.stdin.readline()
while not noticed.noticed.is_set():
    time.sleep(0.01)
print("noticed", noticed.announced, round(noticed.seconds_left()), flush=True)
sys.stdin.readline()
print("still", round(noticed.seconds_left()) <= 25, flush=True)
"""


@pytest.mark.integration
def test_sigterm_is_a_notice_and_a_second_one_changes_nothing() -> None:
    """Neither ends the process: it has its step to finish."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdin is not None
    assert child.stdout.readline() == "watching\n"
    child.send_signal(signal.SIGTERM)
    child.send_signal(signal.SIGTERM)
    assert child.stdout.readline() == "noticed False 25\n"
    child.send_signal(signal.SIGTERM)
    child.stdin.write("\n")
    child.stdin.flush()
    assert child.stdout.readline() == "still True\n"
    assert child.wait(LONG) == 0
