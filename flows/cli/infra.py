"""Commands `tucano infra`: apply work pools, deployments and automations to a Prefect server, or compare them."""

import json

import typer

from flows.cli.options import Json, Overrides, Profile
from flows.runtime.signals import interruptible
from schemas.config.config import REPOSITORY

app = typer.Typer(
    name="infra",
    help="Put work pools, deployments and automations on the Prefect server of PREFECT_API_URL, or compare it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

FOLDER = REPOSITORY
"""Folder of prefect.yaml and infra/."""
APPLIED_IN_PART = "interrupted; what was written stays, and the same command writes the rest"
LOOKED = "interrupted, and nothing was changed; run the same command again"


@app.command()
def apply(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    as_json: Json = False,
) -> None:
    """Make what the server lacks and change what differs; applied again, it changes nothing."""
    from flows.deploy.server import server_address
    from flows.runtime.console import say
    from flows.runtime.prefect_client import connected
    from flows.runtime.prefect_server import shown
    from schemas.config.profiles import load_config

    config = load_config(profile, overrides)
    address = server_address(config)
    with interruptible(APPLIED_IN_PART), connected(address) as client:
        from flows.cli.tables.infra import DONE, as_document, print_applied
        from flows.deploy import apply as infra

        planned = infra.plan(client, FOLDER, config)
        infra.apply(client, planned, address, lambda change: say(f"written: {change.wanted.kind} {change.wanted.name}"))
    print_applied(planned, shown(address))
    if as_json:
        typer.echo(json.dumps(as_document(planned, shown(address), DONE), ensure_ascii=False))


@app.command()
def check(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    as_json: Json = False,
) -> None:
    """Say what is missing on the server, differs or is there besides; exit code 3 where applying would change it."""
    from flows.deploy.server import server_address
    from flows.runtime.prefect_client import connected
    from flows.runtime.prefect_server import shown
    from schemas.config.profiles import load_config

    config = load_config(profile, overrides)
    address = server_address(config)
    with interruptible(LOOKED), connected(address) as client:
        from flows.cli.tables.infra import FOUND, as_document, print_checked
        from flows.deploy import apply as infra

        planned = infra.plan(client, FOLDER, config)
    print_checked(planned, shown(address))
    if as_json:
        typer.echo(json.dumps(as_document(planned, shown(address), FOUND), ensure_ascii=False))
    if planned.due:
        raise typer.Exit(3)
