"""Commands `tucano doctor` and `infra`: what a run needs here, and what a Prefect server has of its deployment."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.result import Table, plural, show
from flows.cli.tucano import LOOKED, Json, Overrides, Profile, StateFolder, configured, group
from flows.deploy.server import server_address
from flows.doctor.finding import Finding
from flows.doctor.run import examine
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


def doctor(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    torch: Annotated[
        bool, typer.Option("--torch", help="Load torch too, and compute on the GPU; it takes some seconds.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Show also what the profile has no use for.")] = False,
    as_json: Json = False,
) -> None:
    """Say what a run with this profile needs, and what of it is missing here. Nothing is changed."""
    config = configured(profile, overrides, state)
    with interruptible(LOOKED):
        findings = examine(config, load_torch=torch)
    faulty = any(finding.verdict == "fault" for finding in findings)
    document = {"profile": profile, "ready": not faulty, "findings": [asdict(finding) for finding in findings]}
    show(document, _findings(profile, findings, everything=everything), as_json=as_json)
    if faulty:
        raise typer.Exit(2)


def _findings(profile: str, findings: Sequence[Finding], *, everything: bool) -> Iterator[str | Table]:
    """Yield the findings in the given order, then the number of bad ones; those of no use only with `everything`."""
    shown = [finding for finding in findings if everything or not finding.unused]
    rows = [{**vars(each), "text": f"{each.found}\n→ {each.remedy}" if each.remedy else each.found} for each in shown]
    yield Table(f"What a run with profile {profile} needs", rows, "check verdict found,_and_what_to_do=text")
    if left := len(findings) - len(shown):
        yield f"{plural(left, 'check')} of what the profile has no use for left out; --all shows them"
    counts = Counter(finding.verdict for finding in findings)
    if counts["fault"]:
        yield f"{plural(counts['fault'], 'fault')}, {plural(counts['warning'], 'warning')}: a run would fail"
    elif counts["warning"]:
        yield f"{plural(counts['warning'], 'warning')}: a run can begin"
    else:
        yield "all is well"
