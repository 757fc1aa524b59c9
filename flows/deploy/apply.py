"""A team's Prefect server set up by the repository's YAML files: checked as a whole, then made or updated in place."""

import importlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple
from uuid import UUID, uuid4

import httpx
import yaml
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
from prefect.utilities.callables import parameter_schema
from prefect.workers.process import ProcessWorker
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from flows.runtime.deployed import absolute_config
from flows.runtime.prefect_client import refusal
from flows.runtime.run_page import profile_tag
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.faults import first_fault

DEPLOYMENTS_FILE = Path("prefect.yaml")
POOLS_FILE = Path("infra/work_pools.yaml")
AUTOMATIONS_FOLDER = Path("infra/automations")
CONFIG = "config"
"""Parameter of a flow that receives the profile."""
PAGE = 200
"""Most items in one response of Prefect's server."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Schedule(_Part):
    """A schedule of a deployment; `slug` is its name there."""

    slug: str = Field(min_length=1)
    cron: str
    timezone: str


class PoolOfDeployment(_Part):
    """The work pool of a deployment."""

    name: str
    job_variables: dict[str, Any] = {}


class Deployment(_Part):
    """A flow that the server can start, as in Prefect's own file; its entrypoint is importable by the workers."""

    name: str = Field(min_length=1)
    description: str
    entrypoint: str = Field(pattern=r"^\w+(\.\w+)+$")
    tags: tuple[str, ...] = ()
    parameters: dict[str, Any] = {}
    schedules: tuple[Schedule, ...] = ()
    concurrency_limit: int = Field(ge=1)
    work_pool: PoolOfDeployment


class Declared(NamedTuple):
    """Content of all files: pools and automations in Prefect's format, the latter with names in place of ids."""

    pools: list[dict[str, Any]]
    deployments: list[Deployment]
    automations: list[tuple[Path, dict[str, Any]]]


def read_declared(folder: Path) -> Declared:
    """Read the files of a checkout, which has prefect.yaml and infra/.

    Raises:
        InputError: A file is missing, is not YAML, or is invalid.
    """
    deployments = []
    for number, each in enumerate(_read(folder / DEPLOYMENTS_FILE, "deployments")):
        try:
            deployments.append(Deployment.model_validate(each))
        except ValidationError as error:
            raise InputError(f"{DEPLOYMENTS_FILE}: deployments.{number}.{first_fault(error)}; correct it") from None
    files = sorted((folder / AUTOMATIONS_FOLDER).glob("*.yaml"))
    automations = [(file, each) for file in files for each in _read(file, "automations")]
    return Declared(_read(folder / POOLS_FILE, "work_pools"), deployments, automations)


def _read(path: Path, key: str) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))[key]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; it belongs to the repository") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no YAML: {' '.join(str(error).split())}; correct it") from None
    except (KeyError, TypeError):
        raise InputError(f"{path} has no {key}; correct it") from None
    return found


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
    pools = [_pool(client, pool, (folder / POOLS_FILE).parent) for pool in declared.pools]
    known = {pool.name for pool in pools}
    deployments = [_deployment(client, each, known, config, profile) for each in declared.deployments]
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
    blocks, automations = _notification_blocks(client), []
    warnings: list[str] = []
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
    things = [*pools, *deployments, *automations]
    named = [f"{thing.kind} {thing.name}" for thing in things]
    if doubled := next((name for name in named if named.count(name) > 1), None):
        raise InputError(f"the files of {folder} name the {doubled} twice; rename one of them, or delete it")
    return things, warnings


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


def _pool(client: SyncPrefectClient, declared: Mapping[str, Any], home: Path) -> Planned:
    given = dict(declared)
    if template := given.get("base_job_template"):
        given["base_job_template"] = _read_template(home / template)
    try:
        pool = WorkPoolCreate.model_validate(given)
    except ValidationError as error:
        raise InputError(f"{POOLS_FILE}: {first_fault(error)}; correct it") from None
    own = ProcessWorker.get_default_base_job_template()
    if not template and pool.type != ProcessWorker.type:
        raise InputError(f"{POOLS_FILE}: the pool {pool.name} of type {pool.type!r} needs a base_job_template")
    is_there = _is_there(client.read_work_pool, pool.name)
    if is_there and (kept := client.read_work_pool(pool.name).type) != pool.type:
        raise InputError(
            f"the server's work pool {pool.name} has the type {kept!r}, and {POOLS_FILE} says {pool.type!r}; a pool "
            f"keeps its type for life: give this one another name, or run: prefect work-pool delete {pool.name}"
        )

    def write() -> None:
        if is_there:
            kept = {name: value for name, value in given.items() if name not in ("name", "type")}
            client.update_work_pool(pool.name, WorkPoolUpdate.model_validate(kept))
        else:
            client.create_work_pool(pool if template else pool.model_copy(update={"base_job_template": own}))

    return Planned("work pool", pool.name, is_there, write)


def _read_template(path: Path) -> dict[str, Any]:
    try:
        template: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is no job template ({error}); correct it") from None
    return template


def _deployment(
    client: SyncPrefectClient, declared: Deployment, pools: set[str], config: Config, profile: str
) -> Planned:
    """Return a deployment whose parameter `config` is the profile."""
    fault = f"{DEPLOYMENTS_FILE}, deployment {declared.name}:"
    pool = declared.work_pool.name
    if pool not in pools and not _is_there(client.read_work_pool, pool):
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
