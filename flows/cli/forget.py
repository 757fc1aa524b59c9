"""Command `tucano forget`: take a person out of data and models, and prove it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.result import show
from flows.cli.training import warm_up
from flows.cli.tucano import LOOKED, Json, Overrides, Profile, StateFolder, configured
from flows.runtime.console import say
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
        typer.Option("--kind", help="Kind of the ID, where a customer, an order or a review of others has it too."),
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
    document = {**done.document, "report": str(done.report)}
    show(document, [*_report_lines(done.document), f"report: {done.report}"], as_json=as_json)
    if missed := done.document["not_reached"]:
        raise GateRefused(f"{len(missed)} places were not reached, which {done.report} names; see to them by hand")


def _report_lines(document: Mapping[str, Any]) -> Iterator[str]:
    removed, lines = document["removed"], sum(document["log_lines"].values())
    yield (
        f"{len(removed)} artifacts removed, {sum(each['replaced_by'] is not None for each in removed)} of them "
        f"replaced; {lines} log lines and {len(document['trainings_removed'])} trainings' checkpoints removed"
    )
    if document["lines_by_text"]:
        yield f"{document['lines_by_text']} of these lines were found by their text alone, which had no id of theirs"
    if document["versions_removed"]:
        yield f"versions removed: {', '.join(document['versions_removed'])}"
    if document["verdict"]:
        yield f"the gate says {document['verdict']} of the new model"
    yield from _to_do(document)


def _to_do(document: Mapping[str, Any]) -> Iterator[str]:
    for name in ("not_reached", "to_do"):
        yield from (f"{name.replace('_', ' ')}: {sentence}" for sentence in document.get(name, ()))


def _plan(config: Config, identifier: str, kind: AskedKind | None, *, as_json: bool) -> None:
    root = config.state.root
    # What is imported below reads them.
    configure_prefect(root)
    begun = Journal(root, identifier.strip(), kind).begun
    if begun is not None:
        document = _begun_document(config, begun)
        show(document, _begun_lines(document), as_json=as_json)
        return
    from flows.stages.forget import outlook  # noqa: PLC0415

    document = outlook(config, identifier, kind)
    lines = list(_plan_lines(document))
    if others := unended(root):
        lines.append(
            f"another person's forgetting was interrupted ({others[0]}), and has to end before: give that ID again"
        )
    show(document, lines, as_json=as_json)


def _plan_lines(document: Mapping[str, Any]) -> Iterator[str]:
    rows = ", ".join(f"{count} in {split}" for split, count in document["rows_by_split"].items())
    yield f"the ID is a {' and a '.join(document['kinds'])}"
    yield (
        f"{document['prompts']} prompts of theirs ({rows or 'none in the dataset of this profile'}); "
        f"{document['artifacts']} artifacts hold their rows, and {document['learned']} learned from a row or from such "
        "weights"
    )
    if not document["learned"]:
        yield "no model learned from them"
    if document["made_again"]:
        yield "prompts and dataset are made again without them, and the models are trained again from the start"
    else:
        yield "nothing of this profile's chain is made again: what holds them is removed, and what learned from them"
    if document["versions"]:
        yield f"versions that are removed: {', '.join(document['versions'])}"
        if not document["made_again"]:
            yield "nothing is made in their place, so that --apply needs --remove-only too"
    yield from _to_do(document)
    yield "nothing was changed; run it with --apply to do this"


def _begun_document(config: Config, state: Forgetting) -> dict[str, Any]:
    from flows.forget import STEPS  # noqa: PLC0415 - a second, which only this case needs

    return {
        "begun": True,
        "done": list(state.done),
        "left": [name for name in STEPS if name not in state.done],
        "not_reached": [sentence for sentences in state.missed.values() for sentence in sentences],
        "kind": state.kind,
        "same_configuration": state.config_digest == config.digest(),
    }


def _begun_lines(document: Mapping[str, Any]) -> Iterator[str]:
    yield "a forgetting of this ID was begun, and has not come to its end"
    yield f"done: {', '.join(document['done']) or 'nothing'}; left: {', '.join(document['left'])}"
    yield from _to_do(document)
    if not document["same_configuration"]:
        yield "it was begun with another configuration: give the same profile and values of --set again"
    yield "nothing was changed now; run it with --apply to resume"


def _verify(config: Config, report: Path, *, as_json: bool) -> None:
    document = read_signed(report)
    root = config.state.root
    own = is_own(root, document)
    whose = f"the key of {root}" if own else f"a key that is not that of {root}: compare its fingerprint"
    found = {"whole": True, "own_key": own, "fingerprint": fingerprint(document)}
    show(found, [f"{report} is as it was signed, by {whose} ({found['fingerprint']})"], as_json=as_json)
