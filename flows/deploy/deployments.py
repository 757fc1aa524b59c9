"""Deployments: each flow's parameters and form, work pool and schedules, here and on the server."""

import asyncio
import hashlib
import importlib
import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from prefect import Flow
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import DeploymentScheduleCreate
from prefect.client.schemas.objects import ConcurrencyLimitStrategy, ConcurrencyOptions
from prefect.client.schemas.responses import DeploymentResponse
from prefect.client.schemas.schedules import CronSchedule
from prefect.exceptions import ParameterBindError, ParameterTypeError, SignatureMismatchError
from prefect.server.schemas.schedules import CronSchedule as ServedSchedule
from prefect.utilities.callables import parameter_schema
from prefect.utilities.schema_tools.validation import ValidationError as SchemaFault
from prefect.utilities.schema_tools.validation import validate
from pydantic import ValidationError

from flows.deploy.files import DEPLOYMENTS_FILE, Deployment, Schedule
from flows.deploy.plan import Found, Wanted
from flows.runtime.deployed import absolute_config
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.faults import first_fault
from tasks.train.sizing.estimate import estimate_training, expected_prompts

RETRAIN = "retrain"
"""Flow whose time is estimated."""
CONFIG = "config"
"""Parameter that receives the profile."""
IN_LINE = ConcurrencyLimitStrategy.ENQUEUE
"""Runs above the limit wait."""


def wanted_deployment(declared: Deployment, config: Config, template: Mapping[str, Any]) -> Wanted:
    """Return a deployment that the server is to have.

    Args:
        declared: The deployment in the file.
        config: The profile.
        template: The base job template of its pool.

    Raises:
        InputError: Its flow cannot be imported or does not take the parameters, the pool does not take the job
            variables, or a schedule is invalid.
    """
    flow = _flow(declared)
    form = json.loads(parameter_schema(flow).model_dump_json())
    parameters = _parameters(declared, flow, config)
    schedules = [_schedule(declared, schedule) for schedule in declared.schedules]
    if flow.name == RETRAIN:
        _require_time_between(declared, config)
    _require_variables(declared, template)

    def write(client: SyncPrefectClient, _: UUID | None) -> None:
        # Prefect's own upsert keeps the id, the history and the paused state.
        client.create_deployment(
            client.create_flow_from_name(flow.name),
            declared.name,
            description=declared.description,
            entrypoint=declared.entrypoint,
            tags=list(declared.tags),
            parameters=parameters,
            parameter_openapi_schema=form,
            enforce_parameter_schema=True,
            schedules=schedules,
            concurrency_limit=declared.concurrency_limit,
            concurrency_options=ConcurrencyOptions(collision_strategy=IN_LINE),
            work_pool_name=declared.work_pool.name,
            job_variables=declared.work_pool.job_variables,
            pull_steps=[],
        )

    document = {
        "description": declared.description,
        "entrypoint": declared.entrypoint,
        "tags": sorted(declared.tags),
        "parameters": parameters,
        "form": _digest(form),
        "form_enforced": True,
        "schedules": {schedule.slug: _schedule_document(schedule) for schedule in schedules},
        "concurrency_limit": declared.concurrency_limit,
        "above_the_limit": IN_LINE.value,
        "work_pool": declared.work_pool.name,
        "job_variables": declared.work_pool.job_variables,
        "pull_steps": [],
    }
    return Wanted("deployment", f"{flow.name}/{declared.name}", document, write)


def found_deployments(there: Sequence[DeploymentResponse], flows: Mapping[UUID, str]) -> list[Found]:
    """Return the deployments that the server has.

    Args:
        there: The server's deployments, as Prefect returns them.
        flows: Names of the server's flows.
    """
    return [Found("deployment", f"{flows[each.flow_id]}/{each.name}", each.id, _found_document(each)) for each in there]


def paused_warnings(there: Sequence[DeploymentResponse], flows: Mapping[UUID, str]) -> list[str]:
    """List the paused deployments: a person's switch, which is left as it is."""
    names = [f"{flows[each.flow_id]}/{each.name}" for each in there if each.paused]
    return [f"deployment {name} is paused, and its schedules rest; resume it on its page" for name in sorted(names)]


def _flow(declared: Deployment) -> Flow[..., Any]:
    module, _, name = declared.entrypoint.rpartition(".")
    try:
        flow = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise _fault(declared, f"its entrypoint {declared.entrypoint} cannot be imported: {error}") from None
    if not isinstance(flow, Flow):
        raise _fault(declared, f"its entrypoint {declared.entrypoint} is no Prefect flow")
    return flow


def _parameters(declared: Deployment, flow: Flow[..., Any], config: Config) -> dict[str, Any]:
    taken = inspect.signature(flow.fn).parameters
    profile = {CONFIG: absolute_config(config).model_dump(mode="json")} if CONFIG in taken else {}
    parameters = {**profile, **declared.parameters}
    try:
        flow.validate_parameters(parameters)
    except (ParameterTypeError, SignatureMismatchError, ParameterBindError) as error:
        reason = " ".join(str(error).split())
        raise _fault(declared, f"the flow {flow.name} does not take its parameters: {reason}") from None
    return parameters


def _schedule(declared: Deployment, schedule: Schedule) -> DeploymentScheduleCreate:
    try:
        cron = CronSchedule(cron=schedule.cron, timezone=schedule.timezone)
    except ValidationError as error:
        raise _fault(declared, f"its schedule {schedule.slug}: {first_fault(error)}") from None
    return DeploymentScheduleCreate(schedule=cron, slug=schedule.slug, active=True)


def _require_time_between(declared: Deployment, config: Config) -> None:
    """Refuse a schedule that asks for a retraining before the one before it can have ended."""
    seconds = estimate_training(config, expected_prompts(config)).seconds
    if seconds is None:
        return
    for schedule in declared.schedules:
        first, second = asyncio.run(ServedSchedule(cron=schedule.cron, timezone=schedule.timezone).get_dates(2))
        between = (second - first).total_seconds()
        if seconds > between:
            raise InputError(
                f"{DEPLOYMENTS_FILE}, deployment {declared.name}: a retraining with this profile takes up to "
                f"{seconds / 3600:.0f} h, and its schedule {schedule.slug} asks for one every {between / 3600:.0f} h; "
                "lower train.max_steps or train.seeds, or schedule it less often"
            )


def _require_variables(declared: Deployment, template: Mapping[str, Any]) -> None:
    variables, pool = declared.work_pool.job_variables, declared.work_pool.name
    if "variables" not in template:
        return
    known = template["variables"].get("properties", {})
    unknown = sorted(set(variables) - set(known))
    if unknown:
        raise _fault(declared, f"the pool {pool} has no job variable {unknown[0]}; it has {', '.join(sorted(known))}")
    try:
        validate(variables, template["variables"], raise_on_error=True, ignore_required=True)
    except SchemaFault as error:
        raise _fault(declared, f"the job variables of the pool {pool}: {error}") from None


def _fault(declared: Deployment, what: str) -> InputError:
    return InputError(f"{DEPLOYMENTS_FILE}, deployment {declared.name}: {what}; correct it")


def _found_document(there: DeploymentResponse) -> dict[str, Any]:
    limit, options = there.global_concurrency_limit, there.concurrency_options
    return {
        "description": there.description,
        "entrypoint": there.entrypoint,
        "tags": sorted(there.tags),
        "parameters": there.parameters,
        "form": _digest(there.parameter_openapi_schema),
        "form_enforced": there.enforce_parameter_schema,
        "schedules": {
            schedule.slug or f"without a name, {schedule.id}": _schedule_document(schedule)
            for schedule in there.schedules
        },
        "concurrency_limit": None if limit is None else limit.limit,
        "above_the_limit": None if options is None else options.collision_strategy.value,
        "work_pool": there.work_pool_name,
        "job_variables": there.job_variables,
        "pull_steps": there.pull_steps or [],
    }


def _schedule_document(schedule: Any) -> dict[str, Any]:
    # A schedule of a type that the files do not use has other fields.
    return {**schedule.schedule.model_dump(mode="json"), "active": schedule.active, "parameters": schedule.parameters}


def _digest(form: Any) -> str:
    return hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()[:12]
