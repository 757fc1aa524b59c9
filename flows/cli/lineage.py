"""Command `tucano lineage`: origins and descendants of an artifact, its integrity, and why two models differ."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.lineage_store import artifact_store, open_inventory, open_walker
from flows.cli.options import LOOKED, Json, Overrides, Profile, ReportLanguage, StateFolder, configured, emit
from flows.cli.tables.lineage import print_differences, print_findings, print_lineage, print_reached
from flows.cli.tables.lineage_answer import print_answer, print_reached_answer
from flows.runtime.console import show, stage_progress
from flows.runtime.signals import interruptible
from schemas.config.config import Config
from schemas.config.report import Language
from schemas.errors import GateRefused, InputError
from tasks.lineage.erase.find import reached
from tasks.lineage.graph.difference import differences
from tasks.lineage.graph.page import write_page
from tasks.lineage.store.verify import verify
from tasks.report.language import spoken
from tasks.synthesize.own.identities import find_known


def lineage(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="REF",
            help="A model version (3, NAME/3) or alias, an artifact's or a prompt's digest or its beginning, a run, or "
            "the id of a review, an order or a customer.",
        ),
    ],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the graph as one HTML page; replaced if there.")
    ] = None,
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Hash all files of all artifacts in it; exit code 3 where one is not whole."),
    ] = False,
    diff: Annotated[str | None, typer.Option("--diff", metavar="OTHER", help="Say why two models differ.")] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Say what holds a customer, order or review, and what learned from it.")
    ] = False,
    language: ReportLanguage = None,
    long: Annotated[
        bool, typer.Option("--long", help="Print the whole tree or list, with digests and reasons.")
    ] = False,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Walk from a model, a run, an artifact or a row to all that it came from and led to."""
    asked = [
        name for name, given in (("--verify", verify), ("--diff", diff is not None), ("--forget", forget)) if given
    ]
    if len(asked) > 1 or (html is not None and asked):
        raise InputError(f"{' and '.join([*asked, *(['--html'] if html else [])])} ask for different things; give one")
    config = configured(profile, overrides, state)
    with interruptible(LOOKED):
        if verify:
            document = _verify(config, reference)
        elif diff is not None:
            document = _diff(config, reference, diff)
        elif forget:
            document = _forget(config, reference, long=long)
        else:
            document = _walk(config, reference, html, language or config.language, long=long)
    emit(document, as_json=as_json)
    if verify and not document["whole"]:
        raise GateRefused(
            f"{len(document['findings'])} faults are in the {document['artifacts']} artifacts of {reference}; bring "
            "them back from a backup of the state folder, or make them again with `tucano retrain`"
        )


def _walk(config: Config, text: str, html: Path | None, language: Language, *, long: bool) -> dict[str, Any]:
    walker = open_walker(config)
    walked = walker.walk(find_known(config.state.root, text, walker.find))
    if long or (walked.kind == "run" and len(walked.subjects) > 1):
        print_lineage(walked)
    else:
        print_answer(walked)
    if html is not None:
        with spoken(language):
            write_page(walked, html)
        show(f"page: {html}")
    return walked.document()


def _verify(config: Config, text: str) -> dict[str, Any]:
    walker = open_walker(config)
    artifacts = walker.artifacts(find_known(config.state.root, text, walker.find))
    with stage_progress("verify") as progress:
        findings = verify(artifact_store(config), artifacts, progress)
    print_findings(text, len(artifacts), findings)
    return {
        "reference": text,
        "artifacts": len(artifacts),
        "whole": not findings,
        "findings": [asdict(finding) for finding in findings],
    }


def _diff(config: Config, one: str, other: str) -> dict[str, Any]:
    walker = open_walker(config)
    policies = [walker.policy(walker.find(text)) for text in (one, other)]
    found = differences(artifact_store(config), *policies)
    print_differences(found)
    return found.document()


def _forget(config: Config, identifier: str, *, long: bool) -> dict[str, Any]:
    found = find_known(config.state.root, identifier, partial(reached, open_inventory(config)))
    print_reached_answer(found, long=long)
    if long:
        print_reached(found)
    return found.document()
