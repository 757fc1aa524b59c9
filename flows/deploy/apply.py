"""Set-up of a team's Prefect server: checked as a whole, then each thing is made, or updated in place."""

import asyncio
import importlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import UUID, uuid4

import httpx
from prefect import Flow
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import DeploymentScheduleCreate, WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.objects import ConcurrencyLimitStrategy, ConcurrencyOptions
from prefect.client.schemas.schedules import CronSchedule
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import (
    ObjectNotFound,
    ParameterBindError,
    ParameterTypeError,
    PrefectException,
    SignatureMismatchError,
)
from prefect.server.schemas.schedules import CronSchedule as ServedSchedule
from prefect.utilities.callables import parameter_schema
from prefect.workers.process import ProcessWorker
from pydantic import ValidationError

from flows.deploy.files import DEPLOYMENTS_FILE, POOLS_FILE, Declared, Deployment, WorkPool, read_declared
from flows.runtime.deployed import absolute_config
from flows.runtime.prefect_client import refusal
from flows.runtime.run_page import profile_tag
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.faults import first_fault
from tasks.train.sizing.estimate import estimate_training, expected_prompts

CONFIG = "config"
"""Parameter of a flow that receives the profile."""
PAGE = 200
"""Most items in one response of Prefect's server."""


@dataclass(frozen=True)
class Planned:
    """A thing that the server is to have."""

    kind: Literal["work pool", "deployment", "automation"]
    name: str
    is_there: bool
    write: Callable[[], object]
    """Create it, or update the one of its name."""


def plan(client: SyncPrefectClient, folder: Path, config: Config, profile: str) -> tuple[list[Planned], list[str]]:
    """Check the files against each other, the profile and the server; return what to write, in order, and warnings.

    Raises:
        InputError: A file is invalid, by itself or on this server.
    """
    declared = read_declared(folder)
    pools = [_pool(client, pool, declared.templates.get(pool.name)) for pool in declared.pools]
    deployments = [_deployment(client, each, declared, config, profile) for each in declared.deployments]
    names = {each.name for each in deployments}

    def require(deployment: str, what: str) -> None:
        if deployment not in names and not _is_there(client.read_deployment_by_name, deployment):
            raise InputError(
                f"{what} {deployment!r}, and neither {DEPLOYMENTS_FILE} nor the server has that deployment; use one "
                f"of: {', '.join(sorted(names))}"
            )

    for name, worker in (("training", config.workers.training), ("inference", config.workers.for_inference)):
        if worker is not None:
            require(worker, f"workers.{name} is")
    blocks, automations, warnings = _notification_blocks(client), [], _idle(config, names)
    for path, automation in declared.automations:
        for action in automation.get("actions", []):
            if "deployment" in action:
                require(action["deployment"], f"{path}, automation {automation.get('name')}: it starts")
            if action.get("block", "") not in ("", *blocks):
                warnings.append(
                    f"automation {automation['name']} notifies nobody: the server has no notification block "
                    f"{action['block']}; make one of that name on its page Blocks, and apply again"
                )
        automations.append(_automation(client, path, automation, blocks))
    return [*pools, *deployments, *automations], warnings


def apply(planned: list[Planned], address: str, progress: Callable[[Planned], None]) -> None:
    """Write everything planned, and call `progress` with each thing once it is written.

    Raises:
        InputError: The server refused a thing, or somebody else changed it meanwhile; what was written before is named,
            and stays.
    """
    written: list[str] = []
    for thing in planned:
        try:
            thing.write()
        except (httpx.HTTPError, PrefectException, ValueError) as error:
            raise InputError(
                f"the {thing.kind} {thing.name} was not written: {refusal(error, address, read_before=True)}; written "
                f"before it: {', '.join(written) or 'nothing'}; run again, the same command writes the rest"
            ) from None
        written.append(f"{thing.kind} {thing.name}")
        progress(thing)


def _is_there(read: Callable[[str], object], name: str) -> bool:
    try:
        read(name)
    except ObjectNotFound:
        return False
    return True


def _pool(client: SyncPrefectClient, pool: WorkPool, template: Mapping[str, Any] | None) -> Planned:
    is_there = _is_there(client.read_work_pool, pool.name)
    if is_there and (kept := client.read_work_pool(pool.name).type) != pool.type:
        raise InputError(
            f"the server's work pool {pool.name} has the type {kept!r}, and {POOLS_FILE} says {pool.type!r}; a pool "
            f"keeps its type for life: give this one another name, or run: prefect work-pool delete {pool.name}"
        )
    given: dict[str, Any] = {"description": pool.description, "concurrency_limit": pool.concurrency_limit}
    if template is not None:
        given["base_job_template"] = dict(template)

    def write() -> None:
        if is_there:
            client.update_work_pool(pool.name, WorkPoolUpdate.model_validate(given))
        else:
            own = ProcessWorker.get_default_base_job_template()
            new = {"name": pool.name, "type": pool.type, "base_job_template": own, **given}
            client.create_work_pool(WorkPoolCreate.model_validate(new))

    return Planned("work pool", pool.name, is_there, write)


def _deployment(
    client: SyncPrefectClient, declared: Deployment, files: Declared, config: Config, profile: str
) -> Planned:
    """Return a deployment whose parameter `config` is the profile."""
    fault = f"{DEPLOYMENTS_FILE}, deployment {declared.name}:"
    pool = declared.work_pool.name
    if pool not in {each.name for each in files.pools} and not _is_there(client.read_work_pool, pool):
        raise InputError(f"{fault} neither {POOLS_FILE} nor the server has its work pool {pool}; correct it")
    flow = _flow(declared, fault)
    taken = inspect.signature(flow.fn).parameters
    filled = {CONFIG: absolute_config(config).model_dump(mode="json")} if CONFIG in taken else {}
    parameters = {**filled, **declared.parameters}
    try:
        flow.validate_parameters(parameters)
        schedules = [
            DeploymentScheduleCreate(
                schedule=CronSchedule(cron=each.cron, timezone=each.timezone), slug=each.slug, active=True
            )
            for each in declared.schedules
        ]
    except (ParameterTypeError, SignatureMismatchError, ParameterBindError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{fault} the flow {flow.name} does not take its parameters: {reason}; correct it") from None
    except ValidationError as error:
        raise InputError(f"{fault} its schedules: {first_fault(error)}; correct it") from None
    if flow.name == "retrain":
        _require_time_between(declared, config, fault)

    def write() -> None:
        # Prefect's own upsert keeps the id, the history and the paused state.
        client.create_deployment(
            client.create_flow_from_name(flow.name),
            declared.name,
            description=declared.description,
            entrypoint=declared.entrypoint,
            tags=[*declared.tags, profile_tag(profile)],
            parameters=parameters,
            parameter_openapi_schema=json.loads(parameter_schema(flow).model_dump_json()),
            enforce_parameter_schema=True,
            schedules=schedules,
            concurrency_limit=declared.concurrency_limit,
            concurrency_options=ConcurrencyOptions(collision_strategy=ConcurrencyLimitStrategy.ENQUEUE),
            work_pool_name=pool,
            job_variables=declared.work_pool.job_variables,
            pull_steps=[],
        )

    name = f"{flow.name}/{declared.name}"
    return Planned("deployment", name, _is_there(client.read_deployment_by_name, name), write)


def _flow(declared: Deployment, fault: str) -> Flow[..., Any]:
    module, _, name = declared.entrypoint.rpartition(".")
    try:
        flow = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{fault} {declared.entrypoint} cannot be imported: {error}; correct it") from None
    if not isinstance(flow, Flow):
        raise InputError(f"{fault} its entrypoint {declared.entrypoint} is no Prefect flow; correct it")
    return flow


def _require_time_between(declared: Deployment, config: Config, fault: str) -> None:
    """Refuse a schedule that asks for a retraining before the one before it can have ended."""
    seconds = estimate_training(config, expected_prompts(config)).seconds
    for schedule in declared.schedules:
        first, second = asyncio.run(ServedSchedule(cron=schedule.cron, timezone=schedule.timezone).get_dates(2))
        between = (second - first).total_seconds()
        if seconds is not None and seconds > between:
            raise InputError(
                f"{fault} a retraining with this profile takes up to {seconds / 3600:.0f} h, and its schedule "
                f"{schedule.slug} asks for one every {between / 3600:.0f} h; lower train.max_steps or train.seeds, or "
                "schedule it less often"
            )


def _notification_blocks(client: SyncPrefectClient) -> dict[str, UUID]:
    """Return the server's notification blocks by name."""
    found: dict[str, UUID] = {}
    read = 0
    while page := client.read_block_documents(limit=PAGE, offset=read, include_secrets=False):
        read += len(page)
        for block in page:
            if block.block_schema is not None and "notify" in block.block_schema.capabilities:
                found[str(block.name)] = block.id
    return found


def _automation(
    client: SyncPrefectClient, path: Path, declared: Mapping[str, Any], blocks: Mapping[str, UUID]
) -> Planned:
    """Return an automation, whose file names deployments and blocks where Prefect has ids; nobody is sent nothing."""
    fault, name = f"{path}, automation {declared.get('name')}:", str(declared.get("name"))
    try:
        # The deployment may be new, too.
        _with_ids(declared, blocks, lambda _: uuid4())
    except ValidationError as error:
        raise InputError(f"{fault} {first_fault(error)}; correct it") from None
    there = client.read_automations_by_name(name)
    if len(there) > 1:
        raise InputError(
            f"the server has {len(there)} automations {name}, which would all act; delete all but one on its page "
            "Automations"
        )

    def write() -> None:
        core = _with_ids(declared, blocks, lambda full: client.read_deployment_by_name(full).id)
        if there:
            # The client sends only fields that are set; others keep the server's value, such as being switched off.
            client.update_automation(there[0].id, AutomationCore(**core.model_dump(exclude={"owner_resource"})))
        else:
            client.create_automation(core)

    return Planned("automation", name, bool(there), write)


def _with_ids(declared: Mapping[str, Any], blocks: Mapping[str, UUID], id_of: Callable[[str], UUID]) -> AutomationCore:
    actions = []
    for action in declared.get("actions", []):
        given = dict(action)
        if "deployment" in given:
            given["deployment_id"] = str(id_of(given.pop("deployment")))
        if "block" in given:
            given["block_document_id"] = str(blocks.get(given["block"], ""))
            given = {"type": "do-nothing"} if given.pop("block") not in blocks else given
        actions.append(given)
    return AutomationCore.model_validate({**declared, "actions": actions})


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
            "deployment training/train gets no work, for runs train on their own machine; give training over with "
            "--set workers.training=training/train and --set state.artifacts=gs://BUCKET/artifacts"
        )
    return warnings
