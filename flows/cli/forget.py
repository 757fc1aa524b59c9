"""Command `tucano forget`: take a person out of data and models, and prove it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.cli.result import Table, facts, show
from flows.cli.training import warm_up
from flows.cli.tucano import LOOKED, Json, Overrides, Profile, StateFolder, configured
from flows.runtime.console import say
from flows.runtime.session import BYTES_NEEDED, configure_prefect, existing_store, recorded, session
from flows.runtime.signals import interruptible
from schemas.config.config import Config
from schemas.errors import GateRefused, InputError
from tasks.lineage.erase.find import AskedKind
from tasks.lineage.erase.plan import Journal, unended
from tasks.lineage.erase.report import fingerprint, is_own, read_signed


def forget(
    identifier: Annotated[str | None, typer.Argument(metavar="ID", help="Of a customer, order or review.")] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Do it. Interrupted, it goes on when run again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing: so it is without --apply.")] = False,
    remove_only: Annotated[bool, typer.Option("--remove-only", help="Remove also what is not made again.")] = False,
    kind: Annotated[AskedKind | None, typer.Option(help="Kind of the ID, where others have it too.")] = None,
    verify: Annotated[Path | None, typer.Option(metavar="REPORT", help="Check a report's signature.")] = None,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Take a person out of data, logs and models, and prove it; exit code 3 where something was missed."""
    if (identifier is None) == (verify is None):
        raise InputError("give the ID of whom to forget, or --verify with a report")
    if apply and (dry_run or verify is not None):
        raise InputError(f"--apply and {'--dry-run' if dry_run else '--verify'} ask for different things; give one")
    config = configured(profile, overrides, state)
    if verify is not None:
        _verify(config, verify, as_json=as_json)
        return
    existing_store(config, "nobody is known there")
    if identifier is not None and apply:
        _apply(config, identifier, kind, remove_only=remove_only, as_json=as_json)
    elif identifier is not None:
        with interruptible(LOOKED):
            _plan(config, identifier, kind, as_json=as_json)


def _apply(config: Config, identifier: str, kind: AskedKind | None, *, remove_only: bool, as_json: bool) -> None:
    say(f"forgetting one person, state in {config.state.root}")
    with session(config, bytes_needed=BYTES_NEEDED), recorded(config, meanwhile=lambda: warm_up(config)):
        # Prefect reads the session's settings when it is imported.
        from flows.forget import forget as forget_person  # noqa: PLC0415

        done = forget_person(config, identifier, kind, remove_only=remove_only)
    found = done.document
    shown = {
        "artifacts_removed": len(found["removed"]),
        "log_lines_removed": sum(found["log_lines"].values()),
        "trainings_whose_checkpoints_were_removed": len(found["trainings_removed"]),
        "versions_removed": found["versions_removed"],
        "verdict_on_the_new_model": found["verdict"],
    }
    parts: list[str | Table] = [facts("Forgetting one person", shown), *_to_do(found), f"report: {done.report}"]
    show({**found, "report": str(done.report)}, parts, as_json=as_json)
    if missed := found["not_reached"]:
        raise GateRefused(f"{len(missed)} places were not reached, which {done.report} names; see to them by hand")


def _to_do(document: Mapping[str, Any]) -> Iterator[str]:
    for name in ("not_reached", "to_do"):
        yield from (f"{name.replace('_', ' ')}: {sentence}" for sentence in document.get(name, ()))


def _plan(config: Config, identifier: str, kind: AskedKind | None, *, as_json: bool) -> None:
    root = config.state.root
    # What is imported below reads them.
    configure_prefect(root)
    if (begun := Journal(root, identifier.strip(), kind).begun) is not None:
        from flows.forget import STEPS  # noqa: PLC0415 - a second, which only this case needs

        document: dict[str, Any] = {
            "begun": True,
            "done": list(begun.done),
            "left": [name for name in STEPS if name not in begun.done],
            "not_reached": [sentence for sentences in begun.missed.values() for sentence in sentences],
            "kind": begun.kind,
            "same_configuration": begun.config_digest == config.digest(),
        }
        parts: list[str | Table] = [facts("A forgetting of this ID was begun, and has not ended", document)]
        if not document["same_configuration"]:
            parts.append("it was begun with another configuration: give the same profile and values of --set again")
        show(document, [*parts, "nothing was changed now; run it with --apply to resume"], as_json=as_json)
        return
    from flows.stages.forget import outlook  # noqa: PLC0415

    document = outlook(config, identifier, kind)
    shown = {name: value for name, value in document.items() if name not in ("places", "not_reached", "to_do")}
    parts = [facts("What forgetting this ID does", shown), *_to_do(document)]
    if document["versions"] and not document["made_again"]:
        parts.append("nothing is made in place of these versions, so that --apply needs --remove-only too")
    if others := unended(root):
        parts.append(f"another person's forgetting was interrupted ({others[0]}): give that ID again first")
    show(document, [*parts, "nothing was changed; run it with --apply to do this"], as_json=as_json)


def _verify(config: Config, report: Path, *, as_json: bool) -> None:
    document, root = read_signed(report), config.state.root
    own = is_own(root, document)
    whose = f"the key of {root}" if own else f"a key that is not that of {root}: compare its fingerprint"
    found = {"whole": True, "own_key": own, "fingerprint": fingerprint(document)}
    show(found, [f"{report} is as it was signed, by {whose} ({found['fingerprint']})"], as_json=as_json)
