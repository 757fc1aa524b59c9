"""Version that an earlier run registered: promoted by a person or taken back, asked, and exported with a proof."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from flows.runtime.console import say
from flows.runtime.session import (
    BYTES_NEEDED,
    existing_store,
    open_recorder,
    open_registry,
    open_store,
    session,
    state_folder,
    work_folder,
)
from flows.runtime.signals import interruptible
from schemas.artifact import ArtifactRecord
from schemas.config.config import Config
from schemas.errors import GateRefused, InputError, Interrupted
from schemas.progress import Progress
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.bag_of_words.bag import objections, read_bags
from tasks.evaluate.claims import unlearned_tasks
from tasks.evaluate.compare import read_report
from tasks.evaluate.stats.resampling import mean_interval
from tasks.lineage.mlflow.registry import PolicyVersion, Rollback
from tasks.lineage.store.artifacts import ArtifactDamaged, ArtifactStore
from tasks.policy.child import run_child
from tasks.policy.load import ADAPTER_FOLDER, TASK_ADAPTERS_FOLDER
from tasks.policy.merge import MODEL_FOLDER, MergeRequest
from tasks.serve.export.child import BASE_FOLDER, PROOFS, ExportFormat, ExportRequest, name_base, published_base
from tasks.serve.export.proof import ExportProof
from tasks.serve.served_model import Decoding, ServedModel, evaluated_decoding

UNFINISHED: Final = "interrupted before it was done; run the same command again"


def roll_back(config: Config) -> Rollback:
    """Move the alias back, and record that as a run; no model is read or written."""
    names = config.promote
    with interruptible(UNFINISHED), state_folder(config, bytes_needed=0):
        recorder, registry = open_recorder(config), open_registry(config)
        recorder.end_abandoned()
        if (back := registry.holder(names.model_name, names.previous_alias)) is not None:
            verified_record(open_store(config), back.policy, f"the policy of version {back.version}")
        # A refusal is no run.
        done = registry.roll_back(names.model_name, names.alias, names.previous_alias)
        moved = {"rolled_back": done.left.version, "version": done.back.version}
        with recorder.pipeline("rollback", {"model": names.model_name, "alias": names.alias, **moved}):
            pass
    return done


def promote_registered(config: Config, number: str | None, reason: str | None) -> dict[str, Any]:
    """Promote a version that is still as it was evaluated, or report that the gate holds it."""
    names, store = config.promote, open_store(config)
    with interruptible(UNFINISHED), state_folder(config, bytes_needed=0):
        registry = open_registry(config)
        parts = version_parts(config, store, registry.version(names.model_name, number).version)
        champion = registry.holder(names.model_name, names.alias)
        records = {"evaluation": parts.evaluation, "policy": parts.policy}
        for role in ("base", "dataset"):
            records[role] = verified_record(store, parts.policy.inputs[role], f"the {role} of {parts.what}")
    version = parts.version
    gate = read_report(store.path(version.evaluation))["gate"]
    reasons = [] if gate["verdict"] == "promote" else list(gate["reasons"])
    if champion is not None and champion.policy not in {version.policy, records["evaluation"].inputs.get("champion")}:
        reasons.append(f"it was not compared with version {champion.version}, which is `{names.alias}` now")
    document: dict[str, Any] = {"version": version.version, "promoted": False, "forced": None}
    document |= {"verdict": "hold" if reasons else "promote", "reasons": reasons or gate["reasons"]}
    if reasons and reason is None:
        return document
    if reasons:
        say(f"version {version.version} is promoted all the same: {'; '.join(reasons)}")
    elif reason is not None:
        say(f"the gate promotes version {version.version}, so --force is not needed and its reason is not kept")
        reason = None
    return {**document, "promoted": True, "forced": reason, "path": _run(config, version, records, reason)}


def promote_baseline(config: Config, number: str | None, task: TaskName, reason: str | None) -> dict[str, Any]:
    """Let a version's bag of words answer a task for the champion, or report what speaks against it."""
    from tasks.evaluate.stage import METRICS_FILE  # noqa: PLC0415 - it takes a second to import

    names, store = config.promote, open_store(config)
    with interruptible(UNFINISHED), state_folder(config, bytes_needed=0):
        recorder, registry = open_recorder(config), open_registry(config)
        recorder.end_abandoned()
        version = registry.version(names.model_name, number)
        what = f"version {version.version}"
        folder = store.path(verified_record(store, version.evaluation, f"the evaluation of {what}").sha256)
        if task not in (known := read_bags(folder)):
            there = ", ".join(known) or "none; evaluate again with `tucano evaluate`"
            raise InputError(f"{what} has no bag of words for {task}; it has {there}")
        metrics = json.loads((folder / METRICS_FILE).read_text(encoding="utf-8"))
        reasons = objections(task, read_report(folder), metrics)
        document: dict[str, Any] = {"version": version.version, "baseline": task, "reasons": reasons}
        document |= {"verdict": "hold" if reasons else "promote", "promoted": not reasons or reason is not None}
        document["forced"] = reason if reasons else None
        if document["promoted"]:
            tags = {"model": names.model_name, "baseline": task, "forced": reason or ""}
            with recorder.pipeline(f"promote-baseline-{task}", tags):
                of = registry.promote_baseline(names.model_name, names.alias, version.version, task, version.evaluation)
            say(f"its bag of words answers {task} for version {of.version}, `{names.alias}`; restart `tucano serve`")
    return document


def _run(config: Config, version: PolicyVersion, records: Mapping[str, ArtifactRecord], reason: str | None) -> str:
    """Run the stage promote, which starts no server, on a registered version; return the folder of its artifact."""
    base = open_store(config).path(records["base"].sha256)
    weights = sum(file.stat().st_size for file in base.iterdir() if file.is_file())
    # A merged model, its copy in the promotion, its package, and MLflow's copy of that.
    with session(config, bytes_needed=BYTES_NEEDED + 4 * weights):
        # Prefect reads the session's settings when it is imported.
        from flows.stages.promote import CARD_FILE, promote  # noqa: PLC0415
        from flows.stages.runner import Session  # noqa: PLC0415

        store, recorder = open_store(config), open_recorder(config)
        recorder.end_abandoned()
        store.clean_drafts()
        tags = {"model": config.promote.model_name, "version": version.version}
        tags |= {} if reason is None else {"forced": reason}
        with recorder.pipeline(f"promote-version-{version.version}", tags) as run:
            of_run = Session(config, run)
            parts = {role: of_run.result(record) for role, record in records.items()}
            result = promote(of_run, parts, by_hand=True, forced=reason)
    say(f"model card: {result.path / CARD_FILE}")
    return str(result.path)


def verified_record(store: ArtifactStore, sha256: str, what: str) -> ArtifactRecord:
    """Verify every byte of an artifact that a version is made of, and return its record."""
    try:
        store.verify(sha256)
        return store.record(sha256)
    except ArtifactDamaged as error:
        raise InputError(
            f"{what} is lost or damaged: {error}; bring it back from a backup of the state folder, or make it again "
            "with `tucano retrain`"
        ) from None


def find_served_model(
    config: Config, number: str | None, *, base: bool, answer_all: bool
) -> tuple[ServedModel, "VersionParts"]:
    """Return the model of a version, with the decoding that it was evaluated with, and what the version is made of."""
    store = existing_store(config, "no model is there that could answer")
    parts = version_parts(config, store, number, instead="ask one that is registered with --version {}, or ")
    merged = None if base else parts.merged
    weights = merged or parts.policy.inputs["base"]
    verified_record(store, weights, parts.what)
    version, unlearned = parts.version, dict[TaskName, str]()
    by_bags = {} if base else {task: version.baselines[task] for task in TASK_NAMES if task in version.baselines}
    if number is None and by_bags and version.verdict != "promote" and version.forced is None and not answer_all:
        unlearned = dict.fromkeys(TASK_NAMES, "the gate holds its policy")
    elif not (base or answer_all):
        unlearned = unlearned_tasks(read_report(store.path(parts.evaluation.sha256)))
    evaluations = {task: verified_record(store, of, parts.what) for task, of in by_bags.items()}
    served = ServedModel(
        name=f"the base of version {version.version}" if base else f"version {version.version}",
        number=version.version,
        version_name=f"{config.promote.model_name}/{version.version}",
        weights=store.path(weights),
        policy=None if base or merged else store.path(parts.policy.sha256),
        decoding=parts.decoding,
        batch_size=config.evaluate.batch_size,
        seed=config.seed,
        store=parts.store,
        spec=parts.spec,
        unlearned={task: why for task, why in unlearned.items() if task not in evaluations},
        bags={task: read_bags(store.path(record.sha256))[task] for task, record in evaluations.items()},
    )
    return served, parts


@dataclass(frozen=True)
class VersionParts:
    """Artifacts that a version is made of."""

    version: PolicyVersion
    what: str
    artifacts: ArtifactStore
    store: Path | None
    """Folder of the store that its prompts are about; None where it is gone."""
    decoding: Decoding
    spec: SpecName
    evaluation: ArtifactRecord

    @cached_property
    def policy(self) -> ArtifactRecord:
        """The policy, verified where it is asked for: monitoring needs none."""
        return verified_record(self.artifacts, self.version.policy, f"the policy of {self.what}")

    @cached_property
    def merged(self) -> str | None:
        """The sha256 of the policy merged into its base, not verified; None where each task has its own adapter."""
        made_from = {"base": self.policy.inputs["base"], "policy": self.policy.sha256}.items()
        merged = self.artifacts.records("merged")
        return next((each.sha256 for each in merged if made_from <= each.inputs.items()), None)

    @property
    def dataset(self) -> str:
        """The sha256 of its dataset, not verified."""
        return self.policy.inputs["dataset"]

    def answers(self) -> ArtifactRecord:
        """Return the version's own answers to the test split, among those that its evaluation compared."""
        evaluation, policy = self.evaluation, self.version.policy
        for role, sha256 in evaluation.inputs.items():
            if role.startswith("answers-") and (record := self.artifacts.record(sha256)).inputs.get("policy") == policy:
                return record
        raise ArtifactDamaged(f"evaluation {evaluation.sha256} names no answers of the policy {policy}")


def version_parts(config: Config, store: ArtifactStore, number: str | None, *, instead: str = "") -> VersionParts:
    """Find what a version is made of, the champion if no number is given; `instead` is a remedy where none is it."""
    names, registry = config.promote, open_registry(config)
    version = (
        registry.holder(names.model_name, names.alias) if number is None else registry.version(names.model_name, number)
    )
    if version is None:
        newest = registry.version(names.model_name, None)
        raise InputError(
            f"no version of {names.model_name} is `{names.alias}` yet: the gate held what was trained; "
            f"{instead.format(newest.version)}promote one with `tucano promote VERSION`"
        )
    what = f"version {version.version} of {names.model_name}"
    evaluation = verified_record(store, version.evaluation, f"the evaluation of {what}")
    shop = evaluation.inputs.get("prompts")
    known = evaluation.config or config.model_dump(mode="json")  # A record of long ago has none.
    return VersionParts(
        version=version,
        what=what,
        artifacts=store,
        store=store.path(shop) / "store" if shop is not None and store.is_whole(shop) else None,
        decoding=evaluated_decoding(known),
        spec=known["rewards"]["spec"],
        evaluation=evaluation,
    )


def export_version(
    config: Config, number: str | None, kind: ExportFormat, draft: Path, goal: Path, progress: Progress
) -> dict[str, Any]:
    """Write a version to a folder, and prove it."""
    store = existing_store(config, "no model is there that could be exported")
    parts = version_parts(config, store, number, instead="export one that is registered with `tucano export {}`, or ")
    adapters = _adapters(store, parts, kind)
    verified_record(store, parts.dataset, parts.what)
    with _work(config) as work:
        weights = _weights(config, store, parts, kind, work, progress)
        published = published_base(weights) if kind == "peft" else None
        request = ExportRequest(
            format=kind,
            name=f"{config.promote.model_name}-{parts.version.version}",
            weights=weights,
            adapters=adapters if kind == "peft" else {},
            base_on_hub=published is not None,
            dataset=store.path(parts.dataset),
            store=parts.store,
            decoding=parts.decoding,
            output=draft,
            proofs=work / "proofs.json",
        )
        run_child("tasks.serve.export.child", request, work, interpreter=None, progress=progress)
        proofs = PROOFS.validate_json(request.proofs.read_bytes())
    for task in request.adapters:
        # The proof read the base where it was then.
        name_base(draft / task, *(published or (str(goal.resolve() / BASE_FOLDER), None)))
    files = [_proven(config, proof, draft) for proof in proofs]
    return {"model": config.promote.model_name, "version": parts.version.version, "format": kind, "files": files}


def _adapters(store: ArtifactStore, parts: VersionParts, kind: ExportFormat) -> dict[str, Path]:
    policy = store.path(parts.policy.sha256)
    if (policy / MODEL_FOLDER).is_dir():
        if kind == "peft":
            raise InputError(f"{parts.what} is a whole model, which has no adapter; export it in another format")
        return {}
    if (policy / ADAPTER_FOLDER).is_dir():
        return {"": policy / ADAPTER_FOLDER}
    adapters = {folder.name: folder for folder in sorted((policy / TASK_ADAPTERS_FOLDER).iterdir())}
    if kind != "peft":
        raise InputError(
            f"{parts.what} has an adapter for each of {', '.join(adapters)}, which are no one model; export it with "
            "--format peft"
        )
    return adapters


@contextmanager
def _work(config: Config) -> Iterator[Path]:
    """Provide a folder for child processes; only a fault of ours leaves it, for its log."""
    folder = work_folder(config, f"export-{os.getpid()}")
    try:
        yield folder
    except (InputError, GateRefused, Interrupted, KeyboardInterrupt):
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder)


def _weights(
    config: Config, store: ArtifactStore, parts: VersionParts, kind: ExportFormat, work: Path, progress: Progress
) -> Path:
    """Return the folder of the weights that are exported: the base's, or the merged model's, made here if need be."""
    if kind != "peft" and parts.merged is not None:
        verified_record(store, parts.merged, parts.what)
        return store.path(parts.merged)
    base = store.path(verified_record(store, parts.policy.inputs["base"], parts.what).sha256)
    if kind == "peft":
        return base
    adapter = store.path(parts.policy.sha256) / ADAPTER_FOLDER
    request = MergeRequest(base=base, adapter=adapter, dataset=store.path(parts.dataset), output=work / "merged")
    run_child("tasks.policy.merge", request, work, interpreter=config.train.interpreter, progress=progress)
    return request.output


def _proven(config: Config, proof: ExportProof, draft: Path) -> Mapping[str, Any]:
    both = zip(proof.own_rewards, proof.rewards, strict=True)
    pairs = [(mine, its) for mine, its in both if mine is not None and its is not None]
    lost = np.array([[mine - its] for mine, its in pairs])
    interval = mean_interval(lost, config.evaluate.resamples, np.random.default_rng(config.seed)) if pairs else None
    files = [file for file in (draft / proof.name, *(draft / proof.name).rglob("*")) if file.is_file()]
    return {
        **proof.model_dump(exclude={"rewards", "own_rewards"}),
        "bytes": sum(file.stat().st_size for file in files),
        "scored": len(pairs),
        "reward": float(np.mean([its for _, its in pairs])) if pairs else None,
        "reward_lost": float(lost.mean()) if pairs else None,
        "lost_low": interval.low if interval else None,
        "lost_high": interval.high if interval else None,
    }
