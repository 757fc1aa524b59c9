"""Commands `tucano doctor` and `infra`: what a run needs here, and a profile put on a team's Prefect server."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.result import Table, plural, show
from flows.cli.tucano import LOOKED, Json, Overrides, Profile, StateFolder, configured, group
from flows.doctor.machine import Finding
from flows.doctor.run import examine
from flows.runtime.console import say, warn
from flows.runtime.prefect_server import reachable, shown
from flows.runtime.session import running_server
from flows.runtime.signals import interruptible
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.source import REPOSITORY

if TYPE_CHECKING:
    from flows.deploy.apply import Thing

app = group("infra")

FOLDER = REPOSITORY
APPLIED_IN_PART = "interrupted; what was written stays, and the same command writes the rest"


@app.callback()
def _as_group() -> None:
    """Put work pools, deployments and automations on the Prefect server of PREFECT_API_URL."""


@app.command()
def apply(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Make what the server lacks and update the rest in place; ids, runs and paused deployments stay."""
    config = configured(profile, overrides, state)
    address = _server_address(config)
    things: list[dict[str, str]] = []
    warnings: list[str] = []

    def written(thing: "Thing") -> None:
        things.append(thing._asdict())
        say(f"written: {thing.kind} {thing.name}")

    with interruptible(APPLIED_IN_PART):
        # Prefect reads what `_server_address` sets when it is imported, which takes seconds.
        from flows.deploy.apply import apply as write  # noqa: PLC0415
        from flows.runtime.prefect_client import connected  # noqa: PLC0415

        with connected(address) as client:
            write(client, FOLDER, config, profile, written, warnings.append)
    for warning in warnings:
        warn(warning)
    document = {"server": shown(address), "things": things, "warnings": warnings}
    show(document, [Table(f"Written to {document['server']}", things, "kind name status")], as_json=as_json)


def _server_address(config: Config) -> str:
    """Return the server's address: PREFECT_API_URL, or that of `tucano ui`, or that of Prefect's own profile."""
    os.environ.setdefault("DO_NOT_TRACK", "1")
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    if (address := os.environ.get("PREFECT_API_URL") or running_server(config.state.root)) is None:
        from prefect.settings import get_current_settings  # noqa: PLC0415 - as above

        address = get_current_settings().api.url
    if address is None:
        raise InputError(
            "no Prefect server is named: set PREFECT_API_URL, such as http://127.0.0.1:4200/api, or start one over the "
            f"state folder with: tucano ui --state {config.state.root}"
        )
    if not reachable(address):
        raise InputError(
            f"no Prefect server answers at {shown(address)}; start it, or correct PREFECT_API_URL, which ends in /api"
        )
    return address


def doctor(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    everything: Annotated[bool, typer.Option("--all", help="Show also what the profile has no use for.")] = False,
    as_json: Json = False,
) -> None:
    """Say what a run with this profile needs, and what of it is missing here. Nothing is changed."""
    config = configured(profile, overrides, state)
    with interruptible(LOOKED):
        findings = examine(config)
    faulty = any(finding.verdict == "fault" for finding in findings)
    document = {"profile": profile, "ready": not faulty, "findings": [asdict(finding) for finding in findings]}
    show(document, _findings(profile, findings, everything=everything), as_json=as_json)
    if faulty:
        raise typer.Exit(2)


def _findings(profile: str, findings: Sequence[Finding], *, everything: bool) -> Iterator[str | Table]:
    shown = [finding for finding in findings if everything or not finding.unused]
    rows = [{**vars(each), "text": f"{each.found}\n→ {each.remedy}" if each.remedy else each.found} for each in shown]
    yield Table(f"What a run with profile {profile} needs", rows, "check verdict found,_and_what_to_do=text")
    counts = Counter(finding.verdict for finding in findings)
    if counts["fault"]:
        yield f"{plural(counts['fault'], 'fault')}, {plural(counts['warning'], 'warning')}: a run would fail"
    elif counts["warning"]:
        yield f"{plural(counts['warning'], 'warning')}: a run can begin"
    else:
        yield "all is well"
