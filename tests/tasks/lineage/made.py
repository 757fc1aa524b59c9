"""Artifacts of a small world, made by hand: what tests of verifying, comparing and forgetting look at."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from schemas.artifact import ArtifactKind, ArtifactRecord
from tasks.lineage.mlflow.registry import PolicyVersion, Registry
from tasks.lineage.store.artifacts import ArtifactStore

Content = bytes | str | pl.DataFrame | Mapping[str, Any]
"""Bytes, a text, a table, or a JSON document."""


def commit(
    store: ArtifactStore,
    kind: ArtifactKind,
    files: Mapping[str, Content],
    inputs: Mapping[str, ArtifactRecord | str] | None = None,
    **record: Any,
) -> ArtifactRecord:
    """Make an artifact of these files from others, or from digests, with what else its record has."""
    with store.draft() as draft:
        for name, content in files.items():
            _write(draft / name, content)
        sources = {role: made if isinstance(made, str) else made.sha256 for role, made in (inputs or {}).items()}
        known = {"stage": kind, "code_version": "c", "config_digest": "d"} | record
        return store.commit(draft, kind=kind, inputs=sources, **known)


def _write(path: Path, content: Content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, pl.DataFrame):
        content.write_parquet(path) if path.suffix == ".parquet" else content.write_csv(path)
        return
    text = f"{json.dumps(content)}\n" if isinstance(content, Mapping) else content
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def register_policy(
    registry: Registry, run_id: str, name: str, policy: ArtifactRecord, evaluation: ArtifactRecord, **how: Any
) -> PolicyVersion:
    """Register a policy that the gate promotes, unless it is said otherwise."""
    known: dict[str, Any] = {"verdict": "promote", "metrics": {}, "base_model": None, "load_in_4bit": False}
    return registry.register(run_id, name, policy=policy, evaluation=evaluation, **(known | how))
