"""Commands `tucano infra`: apply work pools, deployments and automations to a Prefect server, or compare them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from flows.cli.commands import group
from flows.cli.options import LOOKED, Json, Overrides, Profile, StateFolder, configured
from flows.cli.result import Table, show
from flows.deploy.server import server_address
from flows.runtime.console import say, warn
from flows.runtime.prefect_server import shown
from flows.runtime.signals import interruptible
from schemas.source import REPOSITORY

if TYPE_CHECKING:
    from flows.deploy.plan import PlannedChange

app = group("infra")

FOLDER = REPOSITORY
"""Folder of prefect.yaml and infra/."""
APPLIED_IN_PART = "interrupted; what was written stays, and the same command writes the rest"


@app.command()
def apply(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Make what the server lacks and change what differs; applied again, it changes nothing."""
    _carry_out(profile, overrides, state, write=True, as_json=as_json)


@app.command()
def check(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Say what is missing on the server, differs or is there besides; exit code 3 where applying would change it."""
    if _carry_out(profile, overrides, state, write=False, as_json=as_json):
        raise typer.Exit(3)


def _carry_out(profile: str, overrides: list[str], state: Path | None, *, write: bool, as_json: bool) -> bool:
    """Compare the files with the server, write the difference where that is wanted, and return whether there was one.

    Raises:
        InputError: No server answers, or the files and the server do not go together.
    """
    config = configured(profile, overrides, state)
    address = server_address(config)
    with interruptible(APPLIED_IN_PART if write else LOOKED):
        # Prefect reads what `server_address` sets when it is imported, which takes seconds.
        from flows.deploy import apply as infra  # noqa: PLC0415
        from flows.runtime.prefect_client import connected  # noqa: PLC0415

        with connected(address) as client:
            planned = infra.plan(client, FOLDER, config, profile)
            if write:
                infra.apply(client, planned, address, _say_written)
    words = {"missing": "made", "differs": "changed"} if write else {}
    things = [
        {
            "kind": change.wanted.kind,
            "name": change.wanted.name,
            "status": words.get(change.status, change.status),
            "differences": [vars(difference) for difference in change.differences],
        }
        for change in planned.changes
    ]
    document = {
        "server": shown(address),
        "things": things,
        "besides": [{"kind": kind, "name": name} for kind, name in planned.besides],
        "warnings": list(planned.warnings),
    }
    for warning in planned.warnings:
        warn(warning)
    show(document, _parts(document), as_json=as_json)
    return bool(planned.due)


def _parts(document: Mapping[str, Any]) -> Iterator[str | Table]:
    yield Table(f"{document['server']} and the files", document["things"], "kind name status")
    differences = [{**thing, **each} for thing in document["things"] for each in thing["differences"]]
    if differences:
        yield Table("Differences", differences, "name field here there")
    for thing in document["besides"]:
        yield f"besides: the {thing['kind']} {thing['name']} is on the server and in no file; it is left alone"


def _say_written(change: "PlannedChange") -> None:
    say(f"written: {change.wanted.kind} {change.wanted.name}")
