"""Command `tucano promote`: promote a version of an earlier run, or roll back to the previous champion."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.options import Json, Overrides, Profile
from schemas.errors import GateRefused, InputError

if TYPE_CHECKING:
    from schemas.artifact import ArtifactRecord
    from schemas.config.config import Config
    from tasks.lineage.mlflow.registry import PolicyVersion, Rollback
    from tasks.lineage.store.artifacts import ArtifactStore

UNFINISHED = "interrupted before it was done; run the same command again"


def promote(
    version: Annotated[
        str | None, typer.Argument(metavar="[VERSION]", help="Its number in the registry; the newest if not given.")
    ] = None,
    force: Annotated[
        str | None, typer.Option(metavar="REASON", help="Promote it though the gate holds it; the reason is recorded.")
    ] = None,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Give the alias back to the version that held it before.")
    ] = False,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    as_json: Json = False,
) -> None:
    """Promote a version that an earlier run registered; exit code 3 where the gate holds it and nothing is forced."""
    from flows.runtime.console import say
    from schemas.config.profiles import load_config
    from tasks.lineage.mlflow.registry import checked_reason

    if rollback and (version is not None or force is not None):
        given = f"VERSION {version}" if version is not None else "--force"
        raise InputError(f"--rollback goes to the version before and takes no {given}; leave one of them out")
    reason = None if force is None else checked_reason(force)
    config = load_config(profile, overrides)
    _require_state(config)
    if rollback:
        done = _roll_back(config)
        alias = config.promote.alias
        say(
            f"version {done.left.version} of {config.promote.model_name} is left: `{alias}` is version "
            f"{done.back.version} again"
        )
        document: dict[str, Any] = {"version": done.back.version, "rolled_back": done.left.version}
    else:
        document = _promote(config, version, reason)
    if as_json:
        names = {"model": config.promote.model_name, "alias": config.promote.alias}
        typer.echo(json.dumps({**names, **document}, ensure_ascii=False))
    if not rollback and not document["promoted"]:
        raise GateRefused(
            f"the gate holds version {document['version']} of {config.promote.model_name}: "
            f"{'; '.join(document['reasons'])}; promote it all the same with --force REASON"
        )


def _require_state(config: "Config") -> None:
    from flows.runtime.session import artifacts_folder

    if not artifacts_folder(config).is_dir():
        raise InputError(
            f"the state folder {config.state.root} has no artifacts, so nothing is registered there; run `tucano "
            "retrain` first, or name another folder with --set state.root=FOLDER"
        )


def _roll_back(config: "Config") -> "Rollback":
    """Move the alias back, and record that as a run; no model is read or written."""
    from flows.runtime.session import artifacts_folder, state_folder
    from flows.runtime.signals import interruptible
    from flows.runtime.stores import open_recorder, open_registry
    from tasks.lineage.store.artifacts import ArtifactStore

    names = config.promote
    with interruptible(UNFINISHED), state_folder(config, bytes_needed=0):
        recorder, registry = open_recorder(config), open_registry(config)
        recorder.end_abandoned()
        back = registry.holder(names.model_name, names.previous_alias)
        if back is not None:
            _verify(ArtifactStore(artifacts_folder(config)), back.policy, f"the policy of version {back.version}")
        with recorder.pipeline("rollback", {"model": names.model_name, "alias": names.alias}) as run:
            done = registry.roll_back(names.model_name, names.alias, names.previous_alias)
            recorder.tag(run, {"rolled_back": done.left.version, "version": done.back.version})
    return done


def _promote(config: "Config", number: str | None, reason: str | None) -> dict[str, Any]:
    """Promote a version, or report that the gate holds it."""
    from flows.runtime.console import say
    from flows.runtime.session import artifacts_folder, state_folder
    from flows.runtime.signals import interruptible
    from flows.runtime.stores import open_registry
    from tasks.evaluate.compare import read_report
    from tasks.lineage.store.artifacts import ArtifactStore

    names, store = config.promote, ArtifactStore(artifacts_folder(config))
    with interruptible(UNFINISHED), state_folder(config, bytes_needed=0):
        registry = open_registry(config)
        version = registry.version(names.model_name, number)
        champion = registry.holder(names.model_name, names.alias)
        records = _records(store, version)
    gate = read_report(store.path(version.evaluation))["gate"]
    reasons = [] if gate["verdict"] == "promote" else list(gate["reasons"])
    if champion is not None and champion.policy not in {version.policy, records["evaluation"].inputs.get("champion")}:
        reasons.append(f"it was not compared with version {champion.version}, which is `{names.alias}` now")
    document = {
        "version": version.version,
        "promoted": False,
        "verdict": "hold" if reasons else "promote",
        "reasons": reasons or gate["reasons"],
        "forced": None,
    }
    if reasons and reason is None:
        return document
    if reasons:
        say(f"version {version.version} is promoted all the same: {'; '.join(reasons)}")
    elif reason is not None:
        say(f"the gate promotes version {version.version}, so --force is not needed and its reason is not kept")
        reason = None
    return {**document, "promoted": True, "forced": reason, "path": _run(config, version, records, reason)}


def _run(
    config: "Config", version: "PolicyVersion", records: "Mapping[str, ArtifactRecord]", reason: str | None
) -> str:
    """Run the promote flow on a registered version, and return the folder of its artifact."""
    from flows.runtime.console import say
    from flows.runtime.session import BYTES_NEEDED, artifacts_folder, session
    from tasks.lineage.store.artifacts import ArtifactStore

    base = ArtifactStore(artifacts_folder(config)).path(records["base"].sha256)
    weights = sum(file.stat().st_size for file in base.iterdir() if file.is_file())
    # A merged model and a copy of it.
    with session(config, bytes_needed=BYTES_NEEDED + 2 * weights):
        # Prefect reads the session's settings when it is imported.
        from flows.runtime.stores import open_recorder, open_store
        from flows.stages.promote import CARD_FILE, promote
        from flows.stages.runner import StageResult

        store, recorder = open_store(config), open_recorder(config)
        recorder.end_abandoned()
        store.clean_drafts()
        stages = {
            role: StageResult(record, store.path(record.sha256), seconds=0.0, reused=True)
            for role, record in records.items()
        }
        tags = {"model": config.promote.model_name, "version": version.version}
        if reason is not None:
            tags["forced"] = reason
        with recorder.pipeline(f"promote-version-{version.version}", tags) as run:
            result = promote(
                config,
                run,
                stages["policy"],
                stages["evaluation"],
                stages["base"],
                stages["dataset"],
                by_hand=True,
                forced=reason,
            )
    say(f"model card: {result.path / CARD_FILE}")
    return str(result.path)


def _records(store: "ArtifactStore", version: "PolicyVersion") -> dict[str, "ArtifactRecord"]:
    """Find the artifacts that a version is made of, and verify every byte of them.

    Raises:
        InputError: A part is lost or damaged.
    """
    _verify(store, version.evaluation, f"the evaluation of version {version.version}")
    _verify(store, version.policy, f"the policy of version {version.version}")
    records = {"evaluation": store.record(version.evaluation), "policy": store.record(version.policy)}
    for role in ("base", "dataset"):
        sha256 = records["policy"].inputs[role]
        _verify(store, sha256, f"the {role} of version {version.version}")
        records[role] = store.record(sha256)
    return records


def _verify(store: "ArtifactStore", sha256: str, what: str) -> None:
    from tasks.lineage.store.artifacts import ArtifactDamaged

    try:
        store.verify(sha256)
    except ArtifactDamaged as error:
        raise InputError(
            f"{what} is lost or damaged: {error}; bring it back from a backup of the state folder, or make it anew "
            "with `tucano retrain`"
        ) from None
