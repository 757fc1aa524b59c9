"""A team's Prefect server set up by the repository's YAML files: what it lacks is made, the rest updated in place."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar
from uuid import UUID

import yaml
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import DeploymentScheduleCreate, WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.objects import ConcurrencyLimitStrategy, ConcurrencyOptions
from prefect.client.schemas.schedules import CronSchedule
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectNotFound, PrefectException
from prefect.flows import Flow, load_flow_from_entrypoint
from prefect.utilities.callables import parameter_schema
from prefect.workers.process import ProcessWorker
from pydantic import BaseModel, ValidationError

from flows.runtime.deployed import absolute_config
from flows.runtime.run_page import profile_tag
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.faults import first_fault

DEPLOYMENTS_FILE: Final = Path("prefect.yaml")
POOLS_FILE: Final = Path("infra/work_pools.yaml")
AUTOMATIONS_FOLDER: Final = Path("infra/automations")
PAGE: Final = 200
"""Most items in one response of Prefect's server."""

Model = TypeVar("Model", bound=BaseModel)


class Thing(NamedTuple):
    """A thing that was written to the server."""

    kind: Literal["work pool", "deployment", "automation"]
    name: str
    status: Literal["made", "updated"]


def declared(folder: Path, file: Path, key: str) -> list[dict[str, Any]]:
    """Return what a file declares under a key, with names for ids; none, no YAML or no such key is an `InputError`."""
    try:
        found: list[dict[str, Any]] = yaml.safe_load((folder / file).read_text(encoding="utf-8"))[key]
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}; it belongs to the repository") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is no YAML: {' '.join(str(error).split())}; correct it") from None
    except (KeyError, TypeError):
        raise InputError(f"{file} has no {key}; correct it") from None
    return found


def automations_of(folder: Path) -> list[dict[str, Any]]:
    """Return the automations that a checkout declares."""
    files = sorted(path.relative_to(folder) for path in (folder / AUTOMATIONS_FOLDER).glob("*.yaml"))
    return [each for file in files for each in declared(folder, file, "automations")]


def apply(
    client: SyncPrefectClient,
    folder: Path,
    config: Config,
    profile: str,
    written: Callable[[Thing], None],
    warn: Callable[[str], None],
) -> None:
    """Write the pools, the deployments with the profile as their configuration, and the automations.

    Interrupted or refused, what was written before stays, and the same call writes the rest.
    """
    for pool in declared(folder, POOLS_FILE, "work_pools"):
        written(_write_pool(client, pool, (folder / POOLS_FILE).parent))
    for deployment in declared(folder, DEPLOYMENTS_FILE, "deployments"):
        written(_write_deployment(client, deployment, config, profile))
    blocks = _notification_blocks(client)
    for automation in automations_of(folder):
        written(_write_automation(client, automation, blocks, warn))


def _write_pool(client: SyncPrefectClient, given: Mapping[str, Any], home: Path) -> Thing:
    values = dict(given)
    if template := values.get("base_job_template"):
        try:
            values["base_job_template"] = json.loads((home / template).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{home / template} is no job template ({error}); correct it") from None
    pool = _valid(WorkPoolCreate, values, str(POOLS_FILE))
    if not template and pool.type != ProcessWorker.type:
        raise InputError(f"{POOLS_FILE}: the pool {pool.name} of type {pool.type!r} needs a base_job_template")
    there = next((each for each in client.read_work_pools() if each.name == pool.name), None)
    if there is None:
        own = ProcessWorker.get_default_base_job_template()
        client.create_work_pool(pool if template else pool.model_copy(update={"base_job_template": own}))
        return Thing("work pool", pool.name, "made")
    if there.type != pool.type:
        raise InputError(
            f"the server's work pool {pool.name} has the type {there.type!r}, and {POOLS_FILE} says {pool.type!r}; a "
            f"pool keeps its type for life: give this one another name, or run: prefect work-pool delete {pool.name}"
        )
    # Only what the file says: a pool that was paused stays paused.
    update = {name: value for name, value in values.items() if name not in ("name", "type")}
    client.update_work_pool(pool.name, WorkPoolUpdate.model_validate(update))
    return Thing("work pool", pool.name, "updated")


def _write_deployment(client: SyncPrefectClient, given: Mapping[str, Any], config: Config, profile: str) -> Thing:
    """Write a deployment with the profile as its parameter `config`, where its flow has one."""
    fault, values = f"{DEPLOYMENTS_FILE}, deployment {given.get('name')}", dict(given)
    try:
        pool, tags = values.pop("work_pool"), values.pop("tags", ())
        flow: Flow[..., Any] = load_flow_from_entrypoint(values["entrypoint"])
        schedules = [
            DeploymentScheduleCreate(slug=each.pop("slug"), schedule=_valid(CronSchedule, each, fault), active=True)
            for each in map(dict, values.pop("schedules", ()))
        ]
        schema = json.loads(parameter_schema(flow).model_dump_json())
        filled = {"config": absolute_config(config).model_dump(mode="json")} if "config" in schema["properties"] else {}
        parameters = {**filled, **values.pop("parameters", {})}
        flow.validate_parameters(parameters)
        name = f"{flow.name}/{values['name']}"
        is_there = _is_there(client, name)
        # Prefect's own upsert keeps the id, the history and the paused state.
        client.create_deployment(
            client.create_flow_from_name(flow.name),
            parameters=parameters,
            parameter_openapi_schema=schema,
            enforce_parameter_schema=True,
            tags=[*tags, profile_tag(profile)],
            schedules=schedules,
            concurrency_options=ConcurrencyOptions(collision_strategy=ConcurrencyLimitStrategy.ENQUEUE),
            work_pool_name=pool["name"],
            job_variables=pool["job_variables"],
            pull_steps=[],
            **values,
        )
    except (ImportError, KeyError, TypeError, PrefectException) as error:
        raise InputError(f"{fault}: {type(error).__name__}: {' '.join(str(error).split())}; correct it") from None
    return Thing("deployment", name, "updated" if is_there else "made")


def _is_there(client: SyncPrefectClient, deployment: str) -> bool:
    try:
        client.read_deployment_by_name(deployment)
    except ObjectNotFound:
        return False
    return True


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


def _write_automation(
    client: SyncPrefectClient, given: Mapping[str, Any], blocks: Mapping[str, UUID], warn: Callable[[str], None]
) -> Thing:
    """Write an automation, whose file names deployments and blocks where Prefect has ids; nobody is sent nothing."""
    name, actions = str(given.get("name")), []
    for each in given.get("actions", []):
        action = dict(each)
        if (deployment := action.pop("deployment", None)) is not None:
            if not _is_there(client, deployment):
                raise InputError(f"automation {name}: the server does not have its deployment {deployment}; correct it")
            action["deployment_id"] = str(client.read_deployment_by_name(deployment).id)
        if (block := action.pop("block", None)) is not None and block not in blocks:
            warn(
                f"automation {name} notifies nobody: the server has no notification block {block}; make one of that "
                "name on its page Blocks, and apply again"
            )
            action = {"type": "do-nothing"}
        elif block is not None:
            action["block_document_id"] = str(blocks[block])
        actions.append(action)
    core = _valid(AutomationCore, {**given, "actions": actions}, f"automation {name}")
    there = client.read_automations_by_name(name)
    if len(there) > 1:
        raise InputError(
            f"the server has {len(there)} automations {name}, which would all act; delete all but one on its page "
            "Automations"
        )
    if there:
        # The client sends only fields that are set; others would keep the server's value, such as being switched off.
        client.update_automation(there[0].id, AutomationCore(**core.model_dump(exclude={"owner_resource"})))
    else:
        client.create_automation(core)
    return Thing("automation", name, "updated" if there else "made")


def _valid(model: type[Model], values: Mapping[str, Any], where: str) -> Model:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise InputError(f"{where}: {first_fault(error)}; correct it") from None
