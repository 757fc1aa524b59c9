"""The notice that a machine will be taken away: by the metadata server, and by signals."""

import logging
import signal
from collections.abc import Iterator

import pytest

from schemas.timeouts import NOTICE_RESERVE_SECONDS
from tasks.train.resume import preemption
from tasks.train.resume.preemption import Preemption, is_spot
from tests.tasks.train.metadata_server import PATH, MetadataServer, metadata_server

LONG = 60
"""Seconds after which a test has failed that waits for something."""


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
    # Where the machine's template asks for more, until a signal says that less is left.
    longer = Preemption(25, server.url, 120)
    longer.watch()
    assert longer.noticed.wait(LONG)
    assert 90 < longer.seconds_left() <= 120 - NOTICE_RESERVE_SECONDS
    longer.notice()
    assert 0 < longer.seconds_left() <= 25
    assert {(asked.path, asked.flavor, asked.waited) for asked in server.asked} == {(PATH, "Google", True)}


def test_a_machine_on_demand_has_no_spot_price(server: MetadataServer) -> None:
    for said, spot in {b"TRUE\n": True, b"FALSE\n": False, b"<html>": True}.items():
        server.scheduling = said
        assert is_spot(server.url) == spot
    assert {asked.path for asked in server.asked} == {PATH.replace("preempted", "scheduling/preemptible")}
    assert (is_spot("http://127.0.0.1:9/preempted"), is_spot(None)) == (True, False)


@pytest.mark.parametrize("garbage", [b"", b"\xff\x00<html>", b"TRUE or not"])
def test_garbage_is_no_notice(server: MetadataServer, garbage: bytes, caplog: pytest.LogCaptureFixture) -> None:
    server.answers = [garbage, garbage]
    noticed = Preemption(25, server.url)
    with caplog.at_level(logging.WARNING):
        noticed.watch()
        assert server.waiting.wait(LONG)
    assert len([record for record in caplog.records if f"{server.url} does not answer" in record.message]) == 1
    assert not noticed.noticed.is_set()
    server.set(b"TRUE")
    assert noticed.noticed.wait(LONG)
