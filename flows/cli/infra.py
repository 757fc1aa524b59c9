"""Commands `tucano infra`: apply work pools, deployments and automations to a Prefect server, or compare them."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flows.cli.options import LOOKED, Json, Overrides, Profile, StateFolder, configured, emit
from flows.deploy.server import server_address
from flows.runtime.console import show
from flows.runtime.prefect_server import shown
from flows.runtime.signals import interruptible
from schemas.source import REPOSITORY

if TYPE_CHECKING:
    from flows.deploy.plan import PlannedChange

app = typer.Typer(
    name="infra",
    help="Put work pools, deployments and automations on the Prefect server of PREFECT_API_URL, or compare it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

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
        from flows.cli.tables.infra import DONE, FOUND, as_document, print_applied, print_checked  # noqa: PLC0415
        from flows.deploy import apply as infra  # noqa: PLC0415
        from flows.runtime.prefect_client import connected  # noqa: PLC0415

        with connected(address) as client:
            planned = infra.plan(client, FOLDER, config, profile)
            if write:
                infra.apply(client, planned, address, _say_written)
    server = shown(address)
    if write:
        print_applied(planned, server)
    else:
        print_checked(planned, server)
    emit(as_document(planned, server, DONE if write else FOUND), as_json=as_json)
    return bool(planned.due)


def _say_written(change: "PlannedChange") -> None:
    show(f"written: {change.wanted.kind} {change.wanted.name}")
