"""Why two policies differ: their data, rewards, code, configuration and seeds."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, get_args

from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.errors import InputError
from schemas.prompts import SPLITS
from schemas.tasks import TASK_NAMES
from tasks.lineage.artifacts import ArtifactDamaged, ArtifactStore
from tasks.lineage.descriptions import split_file
from tasks.lineage.settings import dotted

TRAINING_FILE: Final = "training.json"
AFTER_TRAINING: Final = frozenset({"promote", "workers", "monitor", "lineage"})
"""Sections of the configuration that nothing of a policy depends on."""


@dataclass(frozen=True)
class RowCounts:
    """The dataset's rows of one split and task in both policies."""

    split: str
    task: str
    only_one: int
    """Rows that only the first policy's dataset has."""
    only_other: int
    """Rows that only the other's has."""
    same: int
    """Rows of both."""


@dataclass(frozen=True)
class Change:
    """Something that the two policies have differently."""

    name: str
    """A dotted key of the configuration, or what the value is of."""
    one: Any
    """Its value in the first, JSON-like; None where it has none."""
    other: Any
    """Its value in the other."""


@dataclass(frozen=True)
class CodeChange:
    """A file of source that differs."""

    file: str
    """Its path in the repository."""
    one: str | None
    """Its sha256 for the first policy; None where there was no such file."""
    other: str | None
    """Its sha256 for the other."""
    made: tuple[ArtifactKind, ...]
    """What was made by it: the policies themselves, or what they were made of."""


@dataclass(frozen=True)
class Differences:
    """All that two policies have differently; what is alike is left out, but for rows."""

    one: str
    """The sha256 of the first policy."""
    other: str
    """The sha256 of the other."""
    data: tuple[RowCounts, ...]
    """Every split and task of either dataset."""
    rewards: tuple[Change, ...]
    """Specification and version of the rewards, and the audit."""
    code: tuple[CodeChange, ...]
    """Files of source that the policies, or what they were made of, were made by."""
    configuration: tuple[Change, ...]
    """Keys of the runs' configurations, without seeds, and without the sections of what comes after training."""
    seeds: tuple[Change, ...]
    """Keys of the configuration that are seeds."""
    notes: tuple[str, ...]
    """What could not be compared and why, each one sentence."""

    def document(self) -> dict[str, Any]:
        """Return them as one JSON document."""
        return asdict(self)


def differences(store: ArtifactStore, one: str, other: str) -> Differences:
    """Compare all that two policies were made of.

    What cannot be compared any more, because an artifact is gone or too old to tell, is among the notes.

    Args:
        store: Where they are.
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
    """A policy and what it was made of, as far as the store still has it."""

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
                # What the policy was made of itself: its audit's sheet may be of another dataset, base and prompts.
                waiting += [source for role, source in record.inputs.items() if role not in roles]
                roles |= record.inputs.keys()
        for kind, record in self.records.items():
            if not record.sources or not record.config:
                self._note(f"{kind} {record.sha256[:12]} is too old to tell its sources and configuration")

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
        """Return which rewards the policy was trained with, and the audit that vouched for them."""
        told: dict[str, Any] = self.training.get("audit", {})
        return {**told, "audit": self.policy.inputs.get("audit")}

    def configuration(self) -> dict[str, Any]:
        """Return the run's configuration by dotted keys, without what comes after training and without seeds."""
        before = {name: value for name, value in self.policy.config.items() if name not in AFTER_TRAINING}
        return {key: value for key, value in dotted(before).items() if not _is_seed(key)}

    def seeds(self) -> dict[str, Any]:
        """Return the run's seeds, and the one that this policy was trained with."""
        told = {key: value for key, value in dotted(self.policy.config).items() if _is_seed(key)}
        return {"training": self.training.get("seed"), **told}

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
    """Compare the source of each artifact with that of its counterpart, and tell each change of a file once."""
    found: defaultdict[tuple[str, str | None, str | None], list[ArtifactKind]] = defaultdict(list)
    for kind in sorted(first.records.keys() & second.records.keys(), key=get_args(ArtifactKind).index):
        one, other = first.records[kind].sources, second.records[kind].sources
        if one and other:
            for change in _changes(one, other):
                found[change.name, change.one, change.other].append(kind)
    return tuple(
        CodeChange(file, one, other, tuple(kinds)) for (file, one, other), kinds in sorted(found.items(), key=str)
    )


def _changes(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[Change, ...]:
    names = dict.fromkeys((*one, *other))
    return tuple(Change(name, one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name))


def _is_seed(key: str) -> bool:
    return key.rpartition(".")[2] in {"seed", "seeds"} or key.endswith("_seed")
