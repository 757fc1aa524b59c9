"""What a team's Prefect server is to have, as the repository's YAML files say it: read and checked, with no server."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from schemas.errors import InputError
from schemas.faults import first_fault

DEPLOYMENTS_FILE = Path("prefect.yaml")
POOLS_FILE = Path("infra/work_pools.yaml")
AUTOMATIONS_FOLDER = Path("infra/automations")
PROCESS = "process"
"""The type of a work pool whose workers start processes on their own machine."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class WorkPool(_Part):
    """A pool of workers."""

    name: str = Field(min_length=1)
    type: str = Field(min_length=1)
    """`process`, or another type of Prefect's, which it keeps for life."""
    description: str
    concurrency_limit: int = Field(ge=1)
    """Runs at once, by all its workers together."""
    base_job_template: Path | None = None
    """A JSON file, its path from this file's folder; Prefect's own template where not set."""

    @model_validator(mode="after")
    def _another_type_has_a_template(self) -> "WorkPool":
        if self.type != PROCESS and self.base_job_template is None:
            raise ValueError(f"the pool {self.name} of type {self.type!r} needs a base_job_template; name its file")
        return self


class Schedule(_Part):
    """When a deployment runs by itself."""

    slug: str = Field(min_length=1)
    """Its name among the deployment's schedules."""
    cron: str
    timezone: str


class PoolOfDeployment(_Part):
    """Where a deployment's runs go."""

    name: str
    job_variables: dict[str, Any] = {}


class Deployment(_Part):
    """A flow that the server can start, as Prefect's own file says it."""

    name: str = Field(min_length=1)
    description: str
    entrypoint: str = Field(pattern=r"^\w+(\.\w+)+$")
    """MODULE.FLOW, which the workers have installed."""
    tags: tuple[str, ...] = ()
    parameters: dict[str, Any] = {}
    """Besides `config`, which is the profile."""
    schedules: tuple[Schedule, ...] = ()
    concurrency_limit: int = Field(ge=1)
    """Runs at once; more wait in line."""
    work_pool: PoolOfDeployment


class _DeploymentsFile(_Part):
    name: str
    pull: tuple[()]
    """Empty: the code is not pulled."""
    definitions: dict[str, Any] = {}
    """Anchors for the deployments; nothing reads them here."""
    deployments: tuple[Deployment, ...]


class _PoolsFile(_Part):
    work_pools: tuple[WorkPool, ...]


class _AutomationsFile(_Part):
    automations: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Declared:
    """Everything that the files say."""

    pools: tuple[WorkPool, ...]
    templates: Mapping[str, Mapping[str, Any]]
    """The base job templates of the pools that name one."""
    deployments: tuple[Deployment, ...]
    automations: tuple[tuple[Path, Mapping[str, Any]], ...]
    """Each automation with its file, in Prefect's words, but for the names that stand in place of ids."""


_File = TypeVar("_File", bound=BaseModel)


def read_declared(folder: Path) -> Declared:
    """Read the files of a checkout.

    Args:
        folder: Of prefect.yaml and infra/.

    Raises:
        InputError: A file is missing, is no YAML, or says what nobody would understand; or two things have one name.
    """
    pools = _read(folder / POOLS_FILE, _PoolsFile).work_pools
    deployments = _read(folder / DEPLOYMENTS_FILE, _DeploymentsFile).deployments
    files = sorted((folder / AUTOMATIONS_FOLDER).glob("*.yaml"))
    automations = tuple((file, each) for file in files for each in _read(file, _AutomationsFile).automations)
    _require_different(folder / POOLS_FILE, [pool.name for pool in pools])
    _require_different(folder / DEPLOYMENTS_FILE, [f"{each.entrypoint} as {each.name}" for each in deployments])
    _require_different(folder / AUTOMATIONS_FOLDER, [str(each.get("name")) for _, each in automations])
    for deployment in deployments:
        slugs = [schedule.slug for schedule in deployment.schedules]
        _require_different(folder / DEPLOYMENTS_FILE, [f"{deployment.name}'s schedule {slug}" for slug in slugs])
    return Declared(
        pools=pools,
        templates={
            pool.name: _read_template((folder / POOLS_FILE).parent / pool.base_job_template)
            for pool in pools
            if pool.base_job_template is not None
        },
        deployments=deployments,
        automations=automations,
    )


def _read(path: Path, kind: type[_File]) -> _File:
    try:
        return kind.model_validate(yaml.safe_load(_text(path)))
    except yaml.MarkedYAMLError as error:
        place = error.problem_mark
        where = f", line {place.line + 1}" if place is not None else ""
        raise InputError(f"{path}{where}, is no YAML: {error.problem}; correct it") from None
    except yaml.YAMLError as error:
        raise InputError(f"{path} is no YAML: {error}; correct it") from None
    except ValidationError as error:
        raise InputError(f"{path}: {first_fault(error)}; correct it") from None


def _read_template(path: Path) -> Mapping[str, Any]:
    # JSON is YAML, and a fault in it is told in the same words.
    template = _read(path, _Template)
    return template.model_dump()


class _Template(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    job_configuration: dict[str, Any]
    variables: dict[str, Any]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise InputError(f"{path} cannot be read: {why}; it belongs to the repository") from None


def _require_different(path: Path, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path} says {name} twice; give one of them another name, or delete it")
