"""Who works on the shards of a large dataset: processes of this machine, or Prefect's Dask task runner."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from prefect import flow, task
from prefect.utilities.annotations import unmapped

from schemas.config import CurateConfig
from schemas.errors import InputError
from tasks.curate.processes import MapShards, in_processes


def map_shards(config: CurateConfig) -> MapShards:
    """Return the way to work on shards that the configuration names.

    Raises:
        InputError: It names Dask, and `prefect-dask` is not installed.
    """
    if config.runner == "processes":
        return in_processes(config.workers)
    return _on_dask(config)


def _on_dask(config: CurateConfig) -> MapShards:
    try:
        from prefect_dask import DaskTaskRunner
    except ImportError:
        raise InputError(
            "curate.runner is 'dask', and prefect-dask is not installed; run `pip install 'tucano2-commerce[dask]'`, "
            "or leave curate.runner at 'processes'"
        ) from None
    if config.dask_address is not None:
        runner = DaskTaskRunner(address=config.dask_address)
    else:
        runner = DaskTaskRunner(cluster_kwargs={"n_workers": config.workers, "threads_per_worker": 1})

    @flow(name="curate-shards", task_runner=runner, validate_parameters=False)
    def work(function: Callable[[Any], Any], things: Sequence[Any]) -> list[Any]:
        return _apply.map(unmapped(function), list(things)).result()

    def on_dask(function: Callable[[Any], Any], things: Sequence[Any]) -> Iterator[Any]:
        yield from work(function, things)

    return on_dask


@task(name="shard")
def _apply(function: Callable[[Any], Any], thing: Any) -> Any:
    return function(thing)
