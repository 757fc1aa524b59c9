"""Command `tucano doctor`: what this machine can run, and what is missing."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from flows.cli.options import LOOKED, Json, Overrides, Profile, StateFolder, configured
from flows.cli.result import Table, plural, show
from flows.doctor.finding import Finding
from flows.doctor.run import examine
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
    show(document, _parts(profile, findings, everything=everything), as_json=as_json)
    if faulty:
        raise typer.Exit(2)


def _parts(profile: str, findings: Sequence[Finding], *, everything: bool) -> Iterator[str | Table]:
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
