"""Loader of the configuration: a sparse TOML profile, those that it extends, and `--set a.b=c` over them."""

import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from schemas.config.config import Config, SynthesizeConfig
from schemas.config.explanations import explain
from schemas.config.section import Section
from schemas.disk import read_toml
from schemas.errors import InputError
from schemas.faults import did_you_mean, first_few
from schemas.source import REPOSITORY

PROFILES_FOLDER = REPOSITORY / "infra" / "profiles"
EXTENDS: Final = "extends"
"""Key of a profile that names another, whose values hold where it sets none itself."""
IGNORED_WITH_STAND_IN: Final = frozenset({"policy.name", "policy.revision"})
"""Settings that a stand-in has no use for."""


def load_config(profile: str, overrides: Sequence[str] = (), *, makes_prompts: bool = True) -> Config:
    """Read a profile, by its name in `infra/profiles` or a path, and apply overrides such as `train.max_steps=20`.

    Values are read as TOML, else as plain text. With `makes_prompts` there must be enough prompts to split.
    """
    values = _read_profile(profile)
    given = {assignment.partition("=")[0].strip() for assignment in overrides}
    _forget_other_model(values, {key.removeprefix("policy.") for key in given if key.startswith("policy.")})
    for assignment in overrides:
        _assign(values, assignment)
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        raise InputError(f"profile {profile!r}: {_failures(error, Config)}") from None
    _refuse_ignored(config, profile, given)
    if makes_prompts:
        _refuse_too_few(config, profile)
    return config


def known_profiles() -> list[str]:
    """Return the names of the profiles of `infra/profiles`."""
    return sorted(file.stem for file in PROFILES_FOLDER.glob("*.toml"))


def synthesize_config(values: dict[str, Any], overrides: Sequence[str] = ()) -> SynthesizeConfig:
    """Make the section of one stage without a profile, and apply `synthesize.a=b` overrides to it."""
    whole: dict[str, Any] = {"synthesize": dict(values)}
    for assignment in overrides:
        if not assignment.strip().startswith("synthesize."):
            section = assignment.partition("=")[0].strip()
            raise InputError(f"--set {section!r} is of another section; this command reads synthesize.a=b only")
        _assign(whole, assignment)
    try:
        return SynthesizeConfig.model_validate(whole["synthesize"])
    except ValidationError as error:
        raise InputError(f"synthesize: {_failures(error, SynthesizeConfig)}") from None


def _forget_other_model(values: dict[str, Any], given: Collection[str]) -> None:
    """Leave out what is of one model, such as its commit, where another is named over it."""
    policy = values.get("policy")
    if isinstance(policy, dict) and ("name" in given or "stand_in" in given):
        values["policy"] = {key: value for key, value in policy.items() if key not in {"revision", "context"}}


def _refuse_ignored(config: Config, profile: str, given: Collection[str]) -> None:
    """Refuse the name of a model where the stand-in is trained all the same; one that a profile inherits may stay."""
    own = _read_file(profile).get("policy", {})
    if "stand_in" not in own:
        given = {*given, *(f"policy.{name}" for name in own)}
    ignored = sorted(IGNORED_WITH_STAND_IN.intersection(given))
    if config.policy.stand_in and ignored and "policy.stand_in" not in given:
        raise InputError(
            f"profile {profile!r}: {ignored[0]} is set, and policy.stand_in is true, so that the stand-in would be "
            "trained instead; add --set policy.stand_in=false, or leave the setting out"
        )


def _refuse_too_few(config: Config, profile: str) -> None:
    for task, count in config.synthesize.counts.items():
        if count:
            config.curate.refuse_without_size(task)
        held_out = config.curate.validation_rows(task) + config.curate.test_rows(task)
        if 0 < count <= held_out:
            raise InputError(
                f"profile {profile!r}: synthesize.counts.{task} is {count}, but validation and test take {held_out} of "
                "each task; raise the count or lower curate.test_per_task"
            )


def _read_profile(profile: str, extended_by: tuple[str, ...] = ()) -> dict[str, Any]:
    """Read a profile over those that it extends."""
    if any(_is_one(profile, each) for each in extended_by):
        raise InputError(f"profile {profile!r} extends itself, by {' -> '.join((*extended_by, profile))}; remove one")
    values = _read_file(profile)
    if (parent := values.pop(EXTENDS, None)) is None:
        return values
    if not isinstance(parent, str):
        raise InputError(f"profile {profile!r}: {EXTENDS} is {parent!r}; give the name of one profile, or its path")
    beside = str(Path(profile).parent / parent)
    is_beside = profile.endswith(".toml") and parent.endswith(".toml") and Path(beside).exists()
    below = _read_profile(beside if is_beside else parent, (*extended_by, profile))
    own = values.get("policy")
    _forget_other_model(below, own if isinstance(own, dict) else ())
    return _merge(below, values)


def _is_one(profile: str, other: str) -> bool:
    """Return whether two profiles are one: a file has many paths."""
    return profile == other or (profile.endswith(".toml") and Path(profile).resolve() == Path(other).resolve())


def _merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Return the values of one profile over those of another; counts of prompts are of one profile alone."""
    tables = [key for key in above.keys() & below.keys() - {"counts"} if type(above[key]) is type(below[key]) is dict]
    return below | above | {key: _merge(below[key], above[key]) for key in tables}


def _read_file(profile: str) -> dict[str, Any]:
    path = Path(profile if profile.endswith(".toml") else PROFILES_FOLDER / f"{profile}.toml")
    try:
        return read_toml(path, "profile")
    except FileNotFoundError:
        known = known_profiles()
        raise InputError(
            f"there is no profile {profile!r}{did_you_mean(profile, known)}; use one of: {', '.join(known)}, or a path "
            "to a .toml file"
        ) from None


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


def _failures(error: ValidationError, section: type[Section]) -> str:
    return first_few(
        f"{'.'.join(map(str, failure['loc'])) or 'the profile'}: {explain(failure, section)}"
        for failure in error.errors(include_url=False)
    )
