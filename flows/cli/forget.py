"""Command `tucano forget`: take a person out of data and models, and prove it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.chain import warm_up
from flows.cli.options import LOOKED, Json, Overrides, Profile, StateFolder, configured, emit
from flows.runtime.console import say, show
from flows.runtime.session import BYTES_NEEDED, configure_prefect, recorded, session
from flows.runtime.signals import interruptible
from flows.runtime.stores import existing_store
from schemas.config.config import Config
from schemas.errors import GateRefused, InputError
from tasks.lineage.erase.find import AskedKind
from tasks.lineage.erase.plan import Forgetting, Journal, unended
from tasks.lineage.erase.report import fingerprint, is_own, read_signed


def forget(
    identifier: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="A customer_unique_id, customer_id, order_id or review_id; no name."),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Do it. Interrupted, it goes on when run again.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and change nothing: so it is without --apply.")
    ] = False,
    remove_only: Annotated[
        bool, typer.Option("--remove-only", help="Remove versions also where nothing can be made in their place.")
    ] = False,
    kind: Annotated[
        AskedKind | None,
        typer.Option("--kind", help="What ID is of, where a customer, an order or a review of others has it too."),
    ] = None,
    verify: Annotated[
        Path | None, typer.Option("--verify", metavar="REPORT", help="Check the signature of a report.")
    ] = None,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Take a person out of data, logs and models, and prove it; exit code 3 where something was not reached."""
    if (identifier is None) == (verify is None):
        raise InputError("give the ID of whom to forget, or --verify with a report")
    if apply and (dry_run or verify is not None):
        raise InputError(f"--apply and {'--dry-run' if dry_run else '--verify'} ask for different things; give one")
    config = configured(profile, overrides, state)
    if verify is not None:
        _verify(config, verify, as_json=as_json)
        return
    existing_store(config, "nobody is known there")
    if identifier is None:
        return
    if apply:
        _apply(config, identifier, kind, remove_only=remove_only, as_json=as_json)
    else:
        with interruptible(LOOKED):
            _plan(config, identifier, kind, as_json=as_json)


def _apply(config: Config, identifier: str, kind: AskedKind | None, *, remove_only: bool, as_json: bool) -> None:
    say(f"forgetting one person, state in {config.state.root}")
    with session(config, bytes_needed=BYTES_NEEDED), recorded(config, meanwhile=lambda: warm_up(config)):
        # Prefect reads the session's settings when it is imported.
        from flows.forget import forget as forget_person  # noqa: PLC0415

        done = forget_person(config, identifier, kind, remove_only=remove_only)
    _show_report(done.document)
    show(f"report: {done.report}")
    emit({**done.document, "report": str(done.report)}, as_json=as_json)
    if missed := done.document["not_reached"]:
        raise GateRefused(f"{len(missed)} places were not reached, which {done.report} names; see to them by hand")


def _show_report(document: Mapping[str, Any]) -> None:
    removed = document["removed"]
    made_again = sum(each["replaced_by"] is not None for each in removed)
    lines = sum(document["log_lines"].values())
    show(
        f"{len(removed)} artifacts removed, {made_again} of them replaced; {lines} log lines and "
        f"{len(document['trainings_removed'])} trainings' checkpoints removed"
    )
    if document["lines_by_text"]:
        show(f"{document['lines_by_text']} of these lines were found by their text alone, which had no id of theirs")
    if document["versions_removed"]:
        show(f"versions removed: {', '.join(document['versions_removed'])}")
    if document["verdict"]:
        show(f"the gate says {document['verdict']} of the new model")
    _show_sentences(document)


def _show_sentences(document: Mapping[str, Any]) -> None:
    for name, heading in (("not_reached", "not reached"), ("to_do", "to do")):
        for sentence in document.get(name, ()):
            show(f"{heading}: {sentence}")


def _plan(config: Config, identifier: str, kind: AskedKind | None, *, as_json: bool) -> None:
    root = config.state.root
    # What is imported below reads them.
    configure_prefect(root)
    begun = Journal(root, identifier.strip(), kind).begun
    if begun is not None:
        emit(_show_begun(config, begun), as_json=as_json)
        return
    from flows.stages.forget import outlook  # noqa: PLC0415

    document = outlook(config, identifier, kind)
    rows = ", ".join(f"{count} in {split}" for split, count in document["rows_by_split"].items())
    show(f"the ID is a {' and a '.join(document['kinds'])}")
    show(
        f"{document['prompts']} prompts of theirs ({rows or 'none in the dataset of this profile'}); "
        f"{document['artifacts']} artifacts hold their rows, and {document['learned']} learned from a row or from such "
        "weights"
    )
    if not document["learned"]:
        show("no model learned from them")
    if document["made_again"]:
        show("prompts and dataset are made again without them, and the models are trained again from the start")
    else:
        show("nothing of this profile's chain is made again: what holds them is removed, and what learned from them")
    if document["versions"]:
        show(f"versions that are removed: {', '.join(document['versions'])}")
        if not document["made_again"]:
            show("nothing is made in their place, so that --apply needs --remove-only too")
    _show_sentences(document)
    show("nothing was changed; run it with --apply to do this")
    if others := unended(root):
        show(f"another person's forgetting was interrupted ({others[0]}), and has to end before: give that ID again")
    emit(document, as_json=as_json)


def _show_begun(config: Config, state: Forgetting) -> dict[str, Any]:
    # A second, which only this case needs.
    from flows.forget import STEPS  # noqa: PLC0415

    document: dict[str, Any] = {
        "begun": True,
        "done": list(state.done),
        "left": [name for name in STEPS if name not in state.done],
        "not_reached": [sentence for sentences in state.missed.values() for sentence in sentences],
        "kind": state.kind,
        "same_configuration": state.config_digest == config.digest(),
    }
    show("a forgetting of this ID was begun, and has not come to its end")
    show(f"done: {', '.join(state.done) or 'nothing'}; left: {', '.join(document['left'])}")
    _show_sentences(document)
    if not document["same_configuration"]:
        show("it was begun with another configuration: give the same profile and values of --set again")
    show("nothing was changed now; run it with --apply to resume")
    return document


def _verify(config: Config, report: Path, *, as_json: bool) -> None:
    document = read_signed(report)
    root = config.state.root
    own = is_own(root, document)
    whose = f"the key of {root}" if own else f"a key that is not that of {root}: compare its fingerprint"
    show(f"{report} is as it was signed, by {whose} ({fingerprint(document)})")
    emit({"whole": True, "own_key": own, "fingerprint": fingerprint(document)}, as_json=as_json)
