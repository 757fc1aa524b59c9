"""Declared set-up of a team's Prefect server: the repository's YAML files, read and checked without a server."""

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
"""Type of a work pool whose workers start processes on their own machine."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class WorkPool(_Part):
    """A pool of workers."""

    name: str = Field(min_length=1)
    type: str = Field(min_length=1)
    """`process`, or another of Prefect's types; it cannot be changed later."""
    description: str
    concurrency_limit: int = Field(ge=1)
    """Most concurrent runs of all its workers together."""
    base_job_template: Path | None = None
    """A JSON file, relative to this file's folder; Prefect's own template where not set."""

    @model_validator(mode="after")
    def _another_type_has_a_template(self) -> "WorkPool":
        if self.type != PROCESS and self.base_job_template is None:
            raise ValueError(f"the pool {self.name} of type {self.type!r} needs a base_job_template; name its file")
        return self


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
    """A flow that the server can start, as in Prefect's own file."""

    name: str = Field(min_length=1)
    description: str
    entrypoint: str = Field(pattern=r"^\w+(\.\w+)+$")
    """MODULE.FLOW, importable by the workers."""
    tags: tuple[str, ...] = ()
    parameters: dict[str, Any] = {}
    """In addition to `config`, which is the profile."""
    schedules: tuple[Schedule, ...] = ()
    concurrency_limit: int = Field(ge=1)
    """Most concurrent runs; more wait in line."""
    work_pool: PoolOfDeployment


class _DeploymentsFile(_Part):
    name: str
    pull: tuple[()]
    """Empty: the code is not pulled."""
    definitions: dict[str, Any] = {}
    """YAML anchors for the deployments; not read here."""
    deployments: tuple[Deployment, ...]


class _PoolsFile(_Part):
    work_pools: tuple[WorkPool, ...]


class _AutomationsFile(_Part):
    automations: tuple[dict[str, Any], ...]


class _Template(_Part):
    job_configuration: dict[str, Any]
    variables: dict[str, Any]


@dataclass(frozen=True)
class Declared:
    """Content of all files."""

    pools: tuple[WorkPool, ...]
    templates: Mapping[str, Mapping[str, Any]]
    """Base job templates of the pools that name one."""
    deployments: tuple[Deployment, ...]
    automations: tuple[tuple[Path, Mapping[str, Any]], ...]
    """Each automation with its file, in Prefect's format, with names in place of ids."""


_File = TypeVar("_File", bound=BaseModel)


def read_declared(folder: Path) -> Declared:
    """Read the files of a checkout, which has prefect.yaml and infra/.

    Raises:
        InputError: A file is missing, is not YAML, or is invalid; or two things share a name.
    """
    pools = _read(folder / POOLS_FILE, _PoolsFile).work_pools
    deployments = _read(folder / DEPLOYMENTS_FILE, _DeploymentsFile).deployments
    files = sorted((folder / AUTOMATIONS_FOLDER).glob("*.yaml"))
    automations = tuple((file, each) for file in files for each in _read(file, _AutomationsFile).automations)
    names = {
        POOLS_FILE: [pool.name for pool in pools],
        DEPLOYMENTS_FILE: [f"{each.entrypoint} as {each.name}" for each in deployments],
        AUTOMATIONS_FOLDER: [str(each.get("name")) for _, each in automations],
    }
    for file, given in names.items():
        if doubled := next((name for name in given if given.count(name) > 1), None):
            raise InputError(f"{folder / file} says {doubled} twice; give one of them another name, or delete it")
    home = (folder / POOLS_FILE).parent
    named = {pool.name: pool.base_job_template for pool in pools}
    # JSON is YAML, so a fault in a template is reported in the same words.
    templates = {name: _read(home / file, _Template).model_dump() for name, file in named.items() if file is not None}
    return Declared(pools, templates, deployments, automations)


def _read(path: Path, kind: type[_File]) -> _File:
    try:
        return kind.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; it belongs to the repository") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no YAML: {' '.join(str(error).split())}; correct it") from None
    except ValidationError as error:
        raise InputError(f"{path}: {first_fault(error)}; correct it") from None
