"""`tucano infra`: put work pools, deployments and automations on a Prefect server, and look how it stands to them."""

import json

import typer

from flows.interruption import interruptible
from flows.options import Json, Overrides, Profile
from schemas.config import REPOSITORY

app = typer.Typer(
    name="infra",
    help="Put work pools, deployments and automations on the Prefect server of PREFECT_API_URL, or compare it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

FOLDER = REPOSITORY
"""Of prefect.yaml and infra/."""
APPLIED_IN_PART = "interrupted; what was written stays, and the same command writes the rest"
LOOKED = "interrupted, and nothing was changed; run the same command again"


@app.command()
def apply(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    as_json: Json = False,
) -> None:
    """Make what the server lacks and change what differs; applied again, it changes nothing."""
    from flows.console import say
    from flows.infra_server import server_address
    from flows.prefect_connection import connected
    from flows.server import shown
    from schemas.profiles import load_config

    config = load_config(profile, overrides)
    address = server_address(config)
    with interruptible(APPLIED_IN_PART), connected(address) as client:
        from flows import infra
        from flows.print_infra import DONE, as_document, print_applied

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
    from flows.infra_server import server_address
    from flows.prefect_connection import connected
    from flows.server import shown
    from schemas.profiles import load_config

    config = load_config(profile, overrides)
    address = server_address(config)
    with interruptible(LOOKED), connected(address) as client:
        from flows import infra
        from flows.print_infra import FOUND, as_document, print_checked

        planned = infra.plan(client, FOLDER, config)
    print_checked(planned, shown(address))
    if as_json:
        typer.echo(json.dumps(as_document(planned, shown(address), FOUND), ensure_ascii=False))
    if planned.due:
        raise typer.Exit(3)
