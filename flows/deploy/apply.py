"""Set-up of a team's Prefect server: planned as a whole, then written."""

from collections.abc import Callable
from pathlib import Path

import httpx
from prefect.client.orchestration import SyncPrefectClient
from prefect.exceptions import PrefectException

from flows.deploy.automations import found_automations, wanted_automation
from flows.deploy.deployments import found_deployments, paused_warnings, wanted_deployment
from flows.deploy.files import DEPLOYMENTS_FILE, POOLS_FILE, Declared, read_declared
from flows.deploy.plan import Found, Plan, PlannedChange, Wanted, compare
from flows.deploy.server import Server, read_server
from flows.deploy.work_pools import found_pools, pool_warnings, template_of, wanted_pools
from flows.runtime.prefect_client import refusal
from flows.runtime.run_page import profile_tag
from schemas.config.config import Config
from schemas.errors import InputError


def plan(client: SyncPrefectClient, folder: Path, config: Config, profile: str) -> Plan:
    """Compare the files with the server, and change nothing.

    Args:
        client: Client of the server.
        folder: Folder of prefect.yaml and infra/.
        config: The profile that deployments run with.
        profile: Its name or file, for the tags of their runs.

    Raises:
        InputError: A file is invalid, by itself or on this server.
    """
    declared = read_declared(folder)
    server = read_server(client)
    pools = found_pools(declared, server.pools)
    deployments = _wanted_deployments(declared, server, config, profile)
    names = {thing.name for thing in deployments}
    known = names | set(server.deployment_names().values())
    _require_who_works(config, known)
    automations, warnings = [], []
    for path, automation in declared.automations:
        thing, warned = wanted_automation(path, automation, known, server.blocks)
        automations.append(thing)
        warnings += warned
    ours = {thing.name for thing in automations}
    found: list[Found] = [
        *pools,
        *found_deployments(server.deployments, server.flows),
        *found_automations(
            server.automations,
            ours,
            server.deployment_names(),
            {identity: name for name, identity in server.blocks.items()},
        ),
    ]
    warnings += pool_warnings(client, declared, server.pools)
    warnings += paused_warnings(
        [each for each in server.deployments if server.deployment_names()[each.id] in names], server.flows
    )
    return compare([*wanted_pools(declared), *deployments, *automations], found, [*warnings, *_idle(config, names)])


def apply(client: SyncPrefectClient, planned: Plan, address: str, progress: Callable[[PlannedChange], None]) -> None:
    """Write what is missing or differs, and nothing else.

    Args:
        client: Client of the server.
        planned: The comparison.
        address: The server's address.
        progress: Called with each change once it is written.

    Raises:
        InputError: The server refused a change, or somebody else changed the thing since it was read; the changes
            written before it are named, and stay.
    """
    written: list[str] = []
    for change in planned.due:
        thing = change.wanted
        try:
            thing.write(client, change.id)
        except (httpx.HTTPError, PrefectException, ValueError) as error:
            done = f"written before it: {', '.join(written)}" if written else "nothing was written before it"
            raise InputError(
                f"the {thing.kind} {thing.name} was not written: {refusal(error, address, read_before=True)}; {done}; "
                "run again, the same command writes the rest"
            ) from None
        written.append(f"{thing.kind} {thing.name}")
        progress(change)


def _wanted_deployments(declared: Declared, server: Server, config: Config, profile: str) -> list[Wanted]:
    templates = {pool.name: pool.base_job_template for pool in server.pools}
    templates |= {pool.name: dict(template_of(pool, declared)) for pool in declared.pools if pool.name not in templates}
    things = []
    for deployment in declared.deployments:
        pool = deployment.work_pool.name
        if pool not in templates:
            raise InputError(
                f"{DEPLOYMENTS_FILE}, deployment {deployment.name}: neither {POOLS_FILE} nor the server has its work "
                f"pool {pool}; they have {', '.join(sorted(templates)) or 'none'}"
            )
        tagged = deployment.model_copy(update={"tags": (*deployment.tags, profile_tag(profile))})
        things.append(wanted_deployment(tagged, config, templates[pool]))
    return things


def _require_who_works(config: Config, known: set[str]) -> None:
    for name, worker in (("training", config.workers.training), ("inference", config.workers.for_inference)):
        if worker is not None and worker not in known:
            raise InputError(
                f"workers.{name} is {worker!r}, and neither {DEPLOYMENTS_FILE} nor the server has that deployment; use "
                f"one of: {', '.join(sorted(known))}"
            )


def _idle(config: Config, names: set[str]) -> list[str]:
    """Warn of deployments that would run in vain, or never, with this profile."""
    warnings = []
    if "monitor/monitor" in names and config.monitor.logs is None:
        warnings.append(
            "deployment monitor/monitor fails each day until `tucano serve` has written logs into its state folder; "
            "name others with --set monitor.logs=FOLDER, or pause it on its page"
        )
    if "training/train" in names and config.workers.training is None:
        warnings.append(
            "deployment training/train gets no work: runs train on their own machine; give training, and with it "
            "all else that needs weights, over with --set workers.training=training/train and "
            "--set state.artifacts=gs://BUCKET/artifacts, which ask for a state.mirror in a bucket and for a server as "
            "state.mlflow too"
        )
    return warnings
