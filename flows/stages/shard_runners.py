"""Runners for the shards of a large dataset: processes of this machine, or Prefect's Dask task runner."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from prefect import flow, task
from prefect.utilities.annotations import unmapped

from schemas.config.config import CurateConfig
from schemas.errors import InputError, Interrupted
from tasks.curate.processes import MapShards, in_processes

SECONDS_TO_CONNECT: Final = 10


def map_shards(config: CurateConfig) -> MapShards:
    """Return the runner of shards that the configuration names."""
    if config.runner == "processes":
        return in_processes(config.workers)
    return _on_dask(config)


def _on_dask(config: CurateConfig) -> MapShards:
    try:
        # An extra that few install.
        import dask  # noqa: PLC0415
        from distributed import CancelledError, KilledWorker  # noqa: PLC0415
        from prefect_dask import DaskTaskRunner  # noqa: PLC0415
    except ImportError:
        raise InputError(
            "curate.runner is 'dask', and prefect-dask is not installed; run `pip install 'tucano2-commerce[dask]'`, "
            "or leave curate.runner at 'processes'"
        ) from None
    if config.dask_address is not None:
        _prove_reachable(config.dask_address)
        runner = DaskTaskRunner(address=config.dask_address)
    else:
        cluster = {
            "n_workers": config.workers,
            "threads_per_worker": 1,
            # By default Dask serves pages to the whole network, to any site's name for it, and warns where another
            # cluster has the port. Here there are none.
            "dashboard_address": "127.0.0.1:0",
            "scheduler_kwargs": {"dashboard": False},
            # Workers that end early are reported in one sentence.
            "silence_logs": logging.CRITICAL,
        }
        dask.config.set({"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []})
        runner = DaskTaskRunner(cluster_kwargs=cluster)

    @flow(name="curate-shards", task_runner=runner, validate_parameters=False)
    def work(function: Callable[[Any], Any], things: Sequence[Any]) -> list[Any]:
        # One by one, so that of several failures the first shard's is raised, whichever came first.
        return [future.result() for future in _apply.map(unmapped(function), list(things))]

    def on_dask(function: Callable[[Any], Any], things: Sequence[Any]) -> Iterator[Any]:
        try:
            yield from work(function, things)
        except (KilledWorker, CancelledError):
            raise Interrupted(
                "Dask's workers were killed, perhaps for want of memory, or its scheduler was; lower curate.workers or "
                "curate.shard_rows, and run the same command again"
            ) from None

    return on_dask


def _prove_reachable(address: str) -> None:
    try:
        found = asyncio.run(_identity(address))
    except Exception:  # noqa: BLE001 - what is no address, and a server that is not Dask's, fail each in its own way
        found = None
    if found != "Scheduler":
        raise InputError(
            f"no Dask scheduler answers at curate.dask_address {address}; start it, correct the address, or leave "
            "curate.dask_address out to use a cluster on this machine"
        )


async def _identity(address: str) -> str:
    """Return a Dask server's identity; Dask's own client would wait forever for one that accepts and is silent."""
    from distributed import rpc  # noqa: PLC0415 - an extra that few install

    async with rpc(address) as server:  # type: ignore[no-untyped-call]
        identity = await asyncio.wait_for(server.identity(), SECONDS_TO_CONNECT)
    return str(identity["type"])


@task(name="shard")
def _apply(function: Callable[[Any], Any], thing: Any) -> Any:
    return function(thing)
