"""Export of a registered version as a folder of files that other programs read: written, read back and compared."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from flows.runtime.session import existing_store, work_folder
from flows.stages.registered_version import VersionParts, verified_record, version_parts
from schemas.config.config import Config
from schemas.errors import GateRefused, InputError, Interrupted
from schemas.progress import Progress
from tasks.evaluate.stats.resampling import mean_interval
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.policy.adapters import ADAPTER_FOLDER, TASK_ADAPTERS_FOLDER
from tasks.policy.child import run_child
from tasks.policy.merge import MergeRequest
from tasks.serve.export.child import BASE_FOLDER, PROOFS, ExportFormat, ExportRequest, name_base, published_base
from tasks.serve.export.proof import ExportProof

MERGED: Final = "merged"


def export_version(
    config: Config, number: str | None, kind: ExportFormat, draft: Path, goal: Path, progress: Progress
) -> dict[str, Any]:
    """Write a version to a folder, and prove it."""
    store = existing_store(config, "no model is there that could be exported")
    parts = version_parts(config, store, number, instead="export one that is registered with `tucano export {}`")
    adapters = _adapters(store, parts, kind)
    verified_record(store, parts.policy.inputs["dataset"], parts.what)
    with _work(config) as work:
        weights = _weights(config, store, parts, kind, work, progress)
        published = published_base(weights) if kind == "peft" else None
        request = ExportRequest(
            format=kind,
            name=f"{config.promote.model_name}-{parts.version.version}",
            weights=weights,
            adapters=adapters if kind == "peft" else {},
            base_on_hub=published is not None,
            dataset=parts.dataset,
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
    return {
        "model": config.promote.model_name,
        "version": parts.version.version,
        "format": kind,
        "files": [_proven(config, proof, draft) for proof in proofs],
    }


def _adapters(store: ArtifactStore, parts: VersionParts, kind: ExportFormat) -> dict[str, Path]:
    policy = store.path(parts.policy.sha256)
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
    request = MergeRequest(base=base, adapter=adapter, dataset=parts.dataset, output=work / MERGED)
    run_child("tasks.policy.merge", request, work, interpreter=config.train.interpreter, progress=progress)
    return request.output


def _proven(config: Config, proof: ExportProof, draft: Path) -> Mapping[str, Any]:
    both = zip(proof.own_rewards, proof.rewards, strict=True)
    pairs = [(mine, its) for mine, its in both if mine is not None and its is not None]
    lost = np.array([[mine - its] for mine, its in pairs])
    interval = mean_interval(lost, config.evaluate.resamples, np.random.default_rng(config.seed)) if pairs else None
    path = draft / proof.name
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return {
        **proof.model_dump(exclude={"rewards", "own_rewards"}),
        "bytes": sum(file.stat().st_size for file in files),
        "scored": len(pairs),
        "reward": float(np.mean([its for _, its in pairs])) if pairs else None,
        "reward_lost": float(lost.mean()) if pairs else None,
        "lost_low": interval.low if interval else None,
        "lost_high": interval.high if interval else None,
    }
