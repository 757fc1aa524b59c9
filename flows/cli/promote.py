"""Command `tucano promote`: promote a version of an earlier run, or roll back to the previous champion."""

from typing import Annotated, Any

import typer

from flows.cli.options import Json, Overrides, Profile, StateFolder, configured, emit
from flows.runtime.console import show
from flows.runtime.stores import existing_store
from flows.stages.registered_version import promote_registered, roll_back
from schemas.errors import GateRefused, InputError
from tasks.lineage.mlflow.registry import checked_reason


def promote(
    version: Annotated[
        str | None, typer.Argument(metavar="[VERSION]", help="Its number in the registry; the newest if not given.")
    ] = None,
    force: Annotated[
        str | None, typer.Option(metavar="REASON", help="Promote it though the gate holds it; the reason is recorded.")
    ] = None,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Give the alias back to the version that held it before.")
    ] = False,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Promote a version that an earlier run registered; exit code 3 where the gate holds it and nothing is forced."""
    if rollback and (version is not None or force is not None):
        given = f"VERSION {version}" if version is not None else "--force"
        raise InputError(f"--rollback goes to the version before and takes no {given}; leave one of them out")
    reason = None if force is None else checked_reason(force)
    config = configured(profile, overrides, state)
    existing_store(config, "nothing is registered there")
    if rollback:
        done = roll_back(config)
        alias = config.promote.alias
        show(
            f"version {done.left.version} of {config.promote.model_name} is left: `{alias}` is version "
            f"{done.back.version} again"
        )
        document: dict[str, Any] = {"version": done.back.version, "rolled_back": done.left.version}
    else:
        document = promote_registered(config, version, reason)
    emit({"model": config.promote.model_name, "alias": config.promote.alias, **document}, as_json=as_json)
    if not rollback and not document["promoted"]:
        raise GateRefused(
            f"the gate holds version {document['version']} of {config.promote.model_name}: "
            f"{'; '.join(document['reasons'])}; promote it all the same with --force REASON"
        )
