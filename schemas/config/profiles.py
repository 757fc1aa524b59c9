"""Reads a configuration: one sparse TOML profile, overridden by `--set a.b=c`."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from schemas.config import REPOSITORY, Config, StateConfig, SynthesizeConfig
from schemas.errors import InputError
from schemas.faults import shown_place

PROFILES_FOLDER = REPOSITORY / "infra" / "profiles"


def load_config(profile: str, overrides: Sequence[str] = (), *, makes_prompts: bool = True) -> Config:
    """Read a profile and apply `a.b=c` overrides to it.

    Args:
        profile: Name of a file in `infra/profiles` without its ending, or a path to a TOML file.
        overrides: Assignments such as `train.max_steps=20`; values are read as TOML, else as plain text.
        makes_prompts: Whether the run makes the prompts that it splits, so that they must be enough for it.

    Raises:
        InputError: The profile does not exist or is not TOML, a key is unknown, a value has the wrong type, or fewer
            prompts of a task are to be made than validation and test take.
    """
    values = _read_profile(profile)
    for assignment in overrides:
        _assign(values, assignment)
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        raise InputError(f"profile {profile!r}: {_first_failures(error)}") from None
    if makes_prompts:
        _refuse_too_few(config, profile)
    return config


def read_state(root: Path, mlflow: str | None) -> StateConfig:
    """Say where state is without a profile.

    Raises:
        InputError: The address of MLflow is none.
    """
    try:
        return StateConfig(root=root, mlflow=mlflow)
    except ValidationError as error:
        raise InputError(f"state: {_first_failures(error)}") from None


def synthesize_config(values: dict[str, Any], overrides: Sequence[str] = ()) -> SynthesizeConfig:
    """Make the section of one stage without a profile, and apply `synthesize.a=b` overrides to it.

    Args:
        values: The section's values.
        overrides: Assignments such as `synthesize.minority_floor=100`.

    Raises:
        InputError: An override is of another section, a key is unknown, or a value is wrong.
    """
    whole: dict[str, Any] = {"synthesize": dict(values)}
    for assignment in overrides:
        if not assignment.strip().startswith("synthesize."):
            section = assignment.partition("=")[0].strip()
            raise InputError(f"--set {section!r} is of another section; this command reads synthesize.a=b only")
        _assign(whole, assignment)
    try:
        return SynthesizeConfig.model_validate(whole["synthesize"])
    except ValidationError as error:
        raise InputError(f"synthesize: {_first_failures(error)}") from None


def _refuse_too_few(config: Config, profile: str) -> None:
    for task, count in config.synthesize.counts.items():
        held_out = config.curate.validation_rows(task) + config.curate.test_rows(task)
        if 0 < count <= held_out:
            raise InputError(
                f"profile {profile!r}: synthesize.counts.{task} is {count}, but validation and test take {held_out} of "
                "each task; raise the count or lower curate.test_per_task"
            )


def _read_profile(profile: str) -> dict[str, Any]:
    named = PROFILES_FOLDER / f"{profile}.toml"
    path = Path(profile) if profile.endswith(".toml") else named
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(sorted(file.stem for file in PROFILES_FOLDER.glob("*.toml")))
        raise InputError(f"there is no profile {profile!r}; use one of: {known}, or a path to a .toml file") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"profile {path} cannot be read: {error}") from None


def _assign(values: dict[str, Any], assignment: str) -> None:
    key, separator, text = assignment.partition("=")
    if not separator or not key.strip():
        raise InputError(f"--set {assignment!r} is not of the form a.b=c, such as train.max_steps=20")
    *parents, leaf = key.strip().split(".")
    target = values
    for parent in parents:
        target = target.setdefault(parent, {})
        if not isinstance(target, dict):
            raise InputError(f"--set {key.strip()!r}: {parent!r} is a value, not a section")
    try:
        target[leaf] = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        target[leaf] = text


def _first_failures(error: ValidationError, most: int = 5) -> str:
    failures = [
        f"{shown_place(failure['loc']) or 'the profile'}: {_explain(failure)}"
        for failure in error.errors(include_url=False)
    ]
    more = f" (and {len(failures) - most} more)" if len(failures) > most else ""
    return "; ".join(failures[:most]) + more


def _explain(failure: Any) -> str:
    if failure["type"] == "extra_forbidden":
        return "unknown key"
    message = failure["msg"].removeprefix("Value error, ")
    if failure["type"] == "value_error":
        return str(message)
    # What is missing shows all that stands around it, and an endpoint's settings may have its key in the wrong place.
    unsaid = (
        failure["type"] == "missing" or isinstance(failure["input"], (dict, list)) or "paraphrase" in failure["loc"]
    )
    return str(message) if unsaid else f"{message} (it is {failure['input']!r})"
