"""Differences of two policies: data, rewards, code, configuration and seeds."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, get_args

from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.errors import InputError
from schemas.tables.prompts import SPLITS
from schemas.tasks import TASK_NAMES
from tasks.lineage.graph.descriptions import split_file
from tasks.lineage.store.artifacts import ArtifactDamaged, ArtifactStore
from tasks.lineage.store.settings import dotted

TRAINING_FILE: Final = "training.json"
AFTER_TRAINING: Final = frozenset({"promote", "workers", "monitor", "lineage"})
"""Sections of the configuration that do not affect a policy."""


@dataclass(frozen=True)
class RowCounts:
    """Row counts of one split and task in the two policies' datasets."""

    split: str
    task: str
    only_one: int
    """Rows in the first policy's dataset only."""
    only_other: int
    """Rows in the other's only."""
    same: int
    """Rows in both."""


@dataclass(frozen=True)
class ChangedValue:
    """Value that differs between the two policies."""

    name: str
    """A dotted key of the configuration, or the name of the value."""
    one: Any
    """The first policy's value, JSON-like; None if missing."""
    other: Any
    """The other's value."""


@dataclass(frozen=True)
class CodeChange:
    """Source file that differs."""

    file: str
    """Its path in the repository."""
    one: str | None
    """Its sha256 for the first policy; None if the file did not exist."""
    other: str | None
    """Its sha256 for the other."""
    made: tuple[ArtifactKind, ...]
    """Artifacts made by it: the policies themselves, or their inputs."""


@dataclass(frozen=True)
class Differences:
    """Everything that differs between two policies; equal parts are left out, except for rows."""

    one: str
    """The sha256 of the first policy."""
    other: str
    """The sha256 of the other."""
    data: tuple[RowCounts, ...]
    """Every split and task of either dataset."""
    rewards: tuple[ChangedValue, ...]
    """Specification and version of the rewards, and the audit."""
    code: tuple[CodeChange, ...]
    """Source files by which the policies, or their inputs, were made."""
    configuration: tuple[ChangedValue, ...]
    """Keys of the runs' configurations, without seeds, and without the sections after training."""
    seeds: tuple[ChangedValue, ...]
    """Seeds of the configuration."""
    notes: tuple[str, ...]
    """Comparisons that were not possible and why, each one sentence."""

    def document(self) -> dict[str, Any]:
        """Return them as one JSON document."""
        return asdict(self)


def differences(store: ArtifactStore, one: str, other: str) -> Differences:
    """Compare everything that two policies were made from.

    Comparisons that are no longer possible, because an artifact is gone or its record too old, are among the notes.

    Args:
        store: The artifact store.
        one: The sha256 of a policy.
        other: The sha256 of another.

    Raises:
        InputError: One of them is no policy.
        ArtifactDamaged: The store lacks one of them.
    """
    first, second = _Made(store, one), _Made(store, other)
    return Differences(
        one=one,
        other=other,
        data=_data(first, second),
        rewards=_changes(first.rewards(), second.rewards()),
        code=_code(first, second),
        configuration=_changes(first.configuration(), second.configuration()),
        seeds=_changes(first.seeds(), second.seeds()),
        notes=(*first.notes, *second.notes),
    )


class _Made:
    """A policy and its inputs, as far as the store still has them."""

    def __init__(self, store: ArtifactStore, sha256: str) -> None:
        self._store = store
        self.policy = store.record(sha256)
        if self.policy.kind != "policy":
            raise InputError(f"{sha256} is an artifact of kind {self.policy.kind}, and only policies can be compared")
        self.notes: list[str] = []
        self.training = self._training()
        self.records: dict[ArtifactKind, ArtifactRecord] = {}
        waiting, roles = [sha256], set[str]()
        while waiting:
            record = self._record(waiting.pop())
            if record is not None and record.kind not in self.records:
                self.records[record.kind] = record
                # Direct inputs only: its audit's sheet may have another dataset, base and prompts.
                waiting += [source for role, source in record.inputs.items() if role not in roles]
                roles |= record.inputs.keys()
        for kind, record in self.records.items():
            if not record.sources or not record.config:
                self._note(f"{kind} {record.sha256[:12]} is too old to name its sources and configuration")

    def rows(self) -> dict[tuple[str, str], set[str]]:
        """Return the prompt_ids of each split and task of the dataset."""
        import polars as pl

        dataset = self.records.get("dataset")
        if dataset is None:
            return {}
        found: dict[tuple[str, str], set[str]] = {}
        for split in SPLITS:
            file = self._store.path(dataset.sha256) / split_file(split)
            try:
                table = pl.read_parquet(file, columns=["task", "prompt_id"])
            except (OSError, pl.exceptions.PolarsError):
                self._note(f"{file} cannot be read")
                continue
            for (task,), rows in table.group_by("task"):
                found[split, str(task)] = set(rows["prompt_id"])
        return found

    def rewards(self) -> dict[str, Any]:
        """Return the rewards that the policy was trained with, and the audit that approved them."""
        audit: dict[str, Any] = self.training.get("audit", {})
        return {**audit, "audit": self.policy.inputs.get("audit")}

    def configuration(self) -> dict[str, Any]:
        """Return the run's configuration by dotted keys, without seeds and sections after training."""
        before = {name: value for name, value in self.policy.config.items() if name not in AFTER_TRAINING}
        return {key: value for key, value in dotted(before).items() if not _is_seed(key)}

    def seeds(self) -> dict[str, Any]:
        """Return the run's seeds, and the policy's training seed."""
        seeds = {key: value for key, value in dotted(self.policy.config).items() if _is_seed(key)}
        return {"training": self.training.get("seed"), **seeds}

    def _training(self) -> dict[str, Any]:
        file = self._store.path(self.policy.sha256) / TRAINING_FILE
        try:
            training: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self._note(f"{file} cannot be read")
            return {}
        return training

    def _record(self, sha256: str) -> ArtifactRecord | None:
        try:
            return self._store.record(sha256)
        except ArtifactDamaged as error:
            self._note(str(error))
            return None

    def _note(self, sentence: str) -> None:
        self.notes.append(f"of policy {self.policy.sha256[:12]}, {sentence}")


def _data(first: _Made, second: _Made) -> tuple[RowCounts, ...]:
    one, other = first.rows(), second.rows()
    order = {name: place for place, name in enumerate((*SPLITS, *TASK_NAMES))}
    places = sorted(one.keys() | other.keys(), key=lambda place: [order.get(name, len(order)) for name in place])
    return tuple(
        RowCounts(split, task, only_one=len(mine - theirs), only_other=len(theirs - mine), same=len(mine & theirs))
        for split, task in places
        for mine, theirs in [(one.get((split, task), set()), other.get((split, task), set()))]
    )


def _code(first: _Made, second: _Made) -> tuple[CodeChange, ...]:
    """Compare each artifact's source with its counterpart's, and list each changed file once."""
    found: defaultdict[tuple[str, str | None, str | None], list[ArtifactKind]] = defaultdict(list)
    for kind in sorted(first.records.keys() & second.records.keys(), key=get_args(ArtifactKind).index):
        one, other = first.records[kind].sources, second.records[kind].sources
        if one and other:
            for change in _changes(one, other):
                found[change.name, change.one, change.other].append(kind)
    return tuple(
        CodeChange(file, one, other, tuple(kinds)) for (file, one, other), kinds in sorted(found.items(), key=str)
    )


def _changes(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[ChangedValue, ...]:
    names = dict.fromkeys((*one, *other))
    return tuple(
        ChangedValue(name, one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)
    )


def _is_seed(key: str) -> bool:
    return key.rpartition(".")[2] in {"seed", "seeds"} or key.endswith("_seed")
