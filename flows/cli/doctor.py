"""Command `tucano doctor`: what this machine can run, and what is missing."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from flows.cli.options import LOOKED, Json, Overrides, Profile, StateFolder, configured, emit
from flows.doctor.finding import Finding
from flows.doctor.run import examine
from flows.runtime.console import print_table, show
from flows.runtime.signals import interruptible


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
    emit(document, as_json=as_json)
    if not as_json:
        _print_findings(f"What a run with profile {profile} needs", findings, everything=everything)
    if faulty:
        raise typer.Exit(2)


def _print_findings(title: str, findings: Sequence[Finding], *, everything: bool) -> None:
    """Print the findings in the given order, then the number of bad ones; those of no use only with `everything`."""
    shown = [finding for finding in findings if everything or not finding.unused]
    print_table(
        title,
        ("check", "verdict", "found, and what to do"),
        [(finding.check, finding.verdict, _text(finding)) for finding in shown],
        texts=("verdict", "found, and what to do"),
    )
    if left := len(findings) - len(shown):
        show(f"{_counted(left, 'check')} of what the profile has no use for left out; --all shows them")
    counts = Counter(finding.verdict for finding in findings)
    if counts["fault"]:
        show(f"{_counted(counts['fault'], 'fault')}, {_counted(counts['warning'], 'warning')}: a run would fail")
    elif counts["warning"]:
        show(f"{_counted(counts['warning'], 'warning')}: a run can begin")
    else:
        show("all is well")


def _text(finding: Finding) -> str:
    return f"{finding.found}\n→ {finding.remedy}" if finding.remedy else finding.found


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
