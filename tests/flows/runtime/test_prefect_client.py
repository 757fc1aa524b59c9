"""Log lines that Prefect's server does not take: one warning, unless a full disk is told already."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from prefect.logging.handlers import APILogWorker

from flows.runtime.prefect_client import report_dropped_logs


async def refused(_: object) -> None:
    raise ConnectionError("of somebody\nand several lines")


@pytest.mark.parametrize("is_full", [True, False])
def test_lost_lines_are_one_warning_unless_the_disk_is_full(is_full: bool, capfd: pytest.CaptureFixture[str]) -> None:
    worker: Any = SimpleNamespace(_client=SimpleNamespace(create_logs=refused))
    before = APILogWorker._handle_batch
    with report_dropped_logs(unless=lambda: is_full):
        asyncio.run(APILogWorker._handle_batch(worker, [{}, {}]))
    told = "warning: 2 log lines are not on Prefect's pages (ConnectionError); the run goes on"
    assert " ".join(capfd.readouterr().err.split()) == ("" if is_full else told)
    assert APILogWorker._handle_batch is before
