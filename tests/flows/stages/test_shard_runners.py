"""Dask's workers do what processes do, and what goes wrong with them is one sentence."""

import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import httpx
import psutil
import pytest

from flows.runtime.prefect_client import drain
from flows.stages import shard_runners
from flows.stages.shard_runners import map_shards
from schemas.config.config import CurateConfig
from schemas.errors import InputError, Interrupted

NO_DASHBOARD = "127.0.0.1:0"


def own_process(number: int) -> tuple[int, int]:
    return number, os.getpid()


def refuse(seconds: float) -> None:
    """Refuse after so long, so that which one is refused first is known."""
    time.sleep(seconds)
    raise InputError(f"{seconds} seconds cannot be; use others")


def die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def pages(_: int) -> list[int]:
    """Return the statuses of the page `/health` on all ports of the cluster."""
    family = [psutil.Process(), psutil.Process(os.getppid())]
    ports = {each.laddr.port for process in family for each in process.net_connections() if each.status == "LISTEN"}
    found = []
    for port in ports:
        # Workers and scheduler speak another protocol on ports of their own.
        with suppress(httpx.HTTPError):
            found.append(httpx.get(f"http://127.0.0.1:{port}/health").status_code)
    return found


def on_dask(workers: int = 1, address: str | None = None) -> CurateConfig:
    return CurateConfig(runner="dask", workers=workers, dask_address=address)


@pytest.fixture(scope="module")
def prefect(prefect_server: str) -> Iterator[None]:
    from prefect.settings import PREFECT_API_URL, PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    with temporary_settings({PREFECT_API_URL: prefect_server, PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        yield
        drain()


def test_processes_are_the_way_where_nothing_else_is_named() -> None:
    assert list(map_shards(CurateConfig(workers=1))(own_process, [4])) == [(4, os.getpid())]


@pytest.mark.integration
@pytest.mark.usefixtures("prefect")
def test_results_come_in_order_from_workers_of_its_own(recwarn: pytest.WarningsRecorder) -> None:
    with socket.socket() as busy:
        # The port where every Dask cluster would serve its pages.
        busy.bind(("127.0.0.1", 0 if _is_taken(8787) else 8787))
        busy.listen()
        found = list(map_shards(on_dask(workers=2))(own_process, range(8)))
    assert [number for number, _ in found] == list(range(8))
    assert os.getpid() not in {process for _, process in found}
    assert not [warning for warning in recwarn if "already in use" in str(warning.message)]


@pytest.mark.integration
@pytest.mark.usefixtures("prefect")
def test_a_cluster_of_its_own_serves_no_pages() -> None:
    (found,) = map_shards(on_dask())(pages, [1])
    assert set(found) == {404}


@pytest.mark.integration
@pytest.mark.usefixtures("prefect")
def test_the_first_refusal_in_a_worker_is_the_callers() -> None:
    with pytest.raises(InputError, match=r"^3 seconds cannot be; use others$"):
        list(map_shards(on_dask(workers=2))(refuse, [3, 0]))


@pytest.mark.integration
@pytest.mark.usefixtures("prefect")
def test_killed_workers_are_reported_in_a_sentence() -> None:
    import dask

    # By itself Dask starts three more workers for whatever killed one.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        pytest.raises(Interrupted, match=r"lower curate\.workers"),
    ):
        list(map_shards(on_dask())(die, [1]))


@pytest.mark.integration
@pytest.mark.usefixtures("prefect")
def test_a_scheduler_that_runs_already_has_its_workers_used() -> None:
    from distributed import LocalCluster

    cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=NO_DASHBOARD)  # type: ignore[no-untyped-call]
    with cluster:
        (worker,) = cluster.workers.values()
        found = list(map_shards(on_dask(address=cluster.scheduler_address))(own_process, range(3)))
        assert found == [(number, worker.process.pid) for number in range(3)]
        with pytest.raises(InputError, match="no Dask scheduler answers"):
            map_shards(on_dask(address=worker.worker_address))


def test_an_address_of_nobody_is_named_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shard_runners, "SECONDS_TO_CONNECT", 1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        nobodys = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        for address in (nobodys, "tcp://127.0.0.1:9", "nowhere", "tls://127.0.0.1:9", ""):
            with pytest.raises(InputError) as caught:
                map_shards(on_dask(address=address))
            assert f"no Dask scheduler answers at curate.dask_address {address}" in str(caught.value)
            assert "leave curate.dask_address out" in str(caught.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("missing", ["prefect_dask", "distributed"])
def test_without_prefect_dask_the_command_that_installs_it_is_reported(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(InputError, match=r"pip install 'tucano2-commerce\[dask\]'"):
        map_shards(on_dask())


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
