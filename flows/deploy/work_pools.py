"""Work pools: in the files, on the server, and the changes from one to the other."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.objects import WorkPool as ServerPool
from prefect.workers.process import ProcessWorker

from flows.deploy.files import Declared, WorkPool
from flows.deploy.plan import Found, Wanted
from flows.runtime.prefect_client import has_worker
from schemas.errors import InputError


def wanted_pools(declared: Declared) -> list[Wanted]:
    """Return the pools that the server is to have."""
    return [_wanted(pool, declared.templates.get(pool.name)) for pool in declared.pools]


def found_pools(declared: Declared, there: Sequence[ServerPool]) -> list[Found]:
    """Return the pools that the server has.

    A template is compared only where a file names one: otherwise it is Prefect's own of the day when the pool was made,
    with a team's changes since.

    Raises:
        InputError: A pool of the files has another type on the server.
    """
    types = {pool.name: pool.type for pool in declared.pools}
    for pool in there:
        if pool.type != types.get(pool.name, pool.type):
            raise InputError(
                f"the server's work pool {pool.name} has the type {pool.type!r}, and infra/work_pools.yaml says "
                f"{types[pool.name]!r}; a pool keeps its type for life: give this one another name, or delete the "
                f"server's with: prefect work-pool delete {pool.name}"
            )
    return [
        Found(
            "work pool",
            pool.name,
            pool.id,
            _document(
                {"description": pool.description, "concurrency_limit": pool.concurrency_limit},
                pool.base_job_template if pool.name in declared.templates else None,
            ),
        )
        for pool in there
    ]


def template_of(pool: WorkPool, declared: Declared) -> Mapping[str, Any]:
    """Return the base job template that a pool is made with."""
    return declared.templates.get(pool.name) or _process_template()


def pool_warnings(client: SyncPrefectClient, declared: Declared, there: Sequence[ServerPool]) -> list[str]:
    """List the pools of the files whose runs nobody would take, and why."""
    servers = {pool.name: pool for pool in there}
    warnings = []
    for pool in declared.pools:
        known = servers.get(pool.name)
        if known is not None and known.is_paused:
            warnings.append(f"work pool {pool.name} is paused; resume it with: prefect work-pool resume {pool.name}")
        if known is None or not has_worker(client, known):
            warnings.append(
                f"work pool {pool.name} has no worker online, and its runs wait; start one with: "
                f"prefect worker start --pool {pool.name} --type {pool.type}"
            )
    return warnings


def _wanted(pool: WorkPool, template: Mapping[str, Any] | None) -> Wanted:
    given = {"description": pool.description, "concurrency_limit": pool.concurrency_limit}

    def write(client: SyncPrefectClient, there: UUID | None) -> None:
        if there is None:
            made_with = dict(template or _process_template())
            new = {"name": pool.name, "type": pool.type, **given, "base_job_template": made_with}
            client.create_work_pool(WorkPoolCreate.model_validate(new))
        else:
            changed = given if template is None else {**given, "base_job_template": dict(template)}
            client.update_work_pool(pool.name, WorkPoolUpdate.model_validate(changed))

    return Wanted("work pool", pool.name, _document(given, template), write)


def _process_template() -> dict[str, Any]:
    return ProcessWorker.get_default_base_job_template()


def _document(given: Mapping[str, Any], template: Mapping[str, Any] | None) -> dict[str, Any]:
    digest = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:12] if template else None
    return {**given, "base_job_template": digest}
