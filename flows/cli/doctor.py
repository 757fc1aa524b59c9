"""Command `tucano doctor`: what this machine can run, and what is missing."""

from dataclasses import asdict
from typing import Annotated

import typer

from flows.cli.options import LOOKED, Json, Overrides, Profile, StateFolder, configured, emit
from flows.cli.tables.doctor import print_findings
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
    emit(document, as_json=as_json)
    if not as_json:
        print_findings(f"What a run with profile {profile} needs", findings, everything=everything)
    if faulty:
        raise typer.Exit(2)
