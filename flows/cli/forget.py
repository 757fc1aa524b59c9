"""Command `tucano forget`: take a person out of data and models, and prove it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from flows.cli.chain import warm_up
from flows.cli.options import LOOKED, Json, Overrides, Profile, StateFolder, configured, emit
from flows.cli.tables.forget import print_begun, print_plan, print_report
from flows.runtime.console import say, show
from flows.runtime.session import BYTES_NEEDED, configure_prefect, recorded, session
from flows.runtime.signals import interruptible
from flows.runtime.stores import existing_store
from schemas.config.config import Config
from schemas.errors import GateRefused, InputError
from tasks.lineage.erase.forget import AskedKind
from tasks.lineage.erase.forgetting import Forgetting, Journal, unended
from tasks.lineage.erase.report import report_of
from tasks.lineage.erase.signature import KEY_FILE, Signer, fingerprint, read_signed


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
    if done.done_before:
        document: dict[str, Any] = read_signed(done.report)
        _say_done_before(done.report, document)
    else:
        document = done.document
        print_report(document)
        show(f"report: {done.report}")
    emit({**document, "report": str(done.report)}, as_json=as_json)
    if document["not_reached"]:
        raise GateRefused(
            f"{len(document['not_reached'])} places were not reached, which {done.report} names; see to them by hand"
        )


def _say_done_before(report: Path, document: Mapping[str, Any]) -> None:
    if missed := document["not_reached"]:
        show(f"this was done before, but for {len(missed)} places that {report} names; --apply tries what can be tried")
    else:
        show(f"this was done before, and nothing is left to do; the report is {report}")


def _plan(config: Config, identifier: str, kind: AskedKind | None, *, as_json: bool) -> None:
    root = config.state.root
    signer = Signer(root) if (root / KEY_FILE).exists() else None
    begun = _begun(root, signer, identifier.strip()) if signer else None
    if begun is not None:
        emit(_say_begun(config, *begun), as_json=as_json)
        return
    # What is imported below reads them.
    configure_prefect(root)
    from flows.stages.forget import outlook  # noqa: PLC0415

    try:
        document = outlook(config, identifier, kind)
    except InputError:
        earlier = report_of(root, signer.subject(identifier.strip(), kind)) if signer else None
        if earlier is None:
            raise
        _say_done_before(earlier, read_signed(earlier))
        document = {"report": str(earlier)}
    else:
        print_plan(document)
        if others := unended(root):
            show(
                f"another person's forgetting was interrupted ({others[0]}), and has to end before: give that ID again"
            )
    emit(document, as_json=as_json)


def _begun(root: Path, signer: Signer, identifier: str) -> tuple[Forgetting, AskedKind | None] | None:
    """Return the forgetting of this ID that has not ended, and the kind that it was begun with."""
    for kind in (None, *get_args(AskedKind)):
        state = Journal(root, signer.subject(identifier, kind)).read()
        if state is not None:
            return state, kind
    return None


def _say_begun(config: Config, state: Forgetting, kind: AskedKind | None) -> dict[str, Any]:
    configure_prefect(config.state.root)
    # A second, which only this case needs.
    from flows.forget import STEPS  # noqa: PLC0415

    document = {
        "begun": True,
        "done": list(state.done),
        "left": [name for name in STEPS if name not in state.done],
        "not_reached": [sentence for sentences in state.missed.values() for sentence in sentences],
        "kind": kind,
        "same_configuration": state.config_digest == config.digest(),
    }
    print_begun(document)
    return document


def _verify(config: Config, report: Path, *, as_json: bool) -> None:
    document = read_signed(report)
    has_key = (config.state.root / KEY_FILE).exists()
    own = has_key and Signer(config.state.root).is_own(document)
    root = config.state.root
    whose = f"the key of {root}" if own else f"a key that is not that of {root}: compare its fingerprint"
    show(f"{report} is as it was signed, by {whose} ({fingerprint(document)})")
    emit({"whole": True, "own_key": own, "fingerprint": fingerprint(document)}, as_json=as_json)
