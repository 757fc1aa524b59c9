"""Train, validation and test: exact sizes by task, and nothing that one side knows of the other.

Rows that share a review, an order or a customer, directly or through other rows, form a group, and so do a prompt and
its paraphrases; a row with none of them is a group of its own. Groups come in the order of a keyed hash of their
identity. Each goes whole to test if every task in it still needs that many rows there, else to validation by the same
rule, else to train. Where that leaves a task short, because only mixed groups are left of it, the train groups with the
least to lose are moved over, and those of their rows that no task needs any more are dropped as leakage.
"""

import hashlib
import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

import polars as pl

from schemas.errors import InputError
from schemas.tasks import TASK_NAMES

SPLITS: Final = ("train", "validation", "test")
SOURCE_COLUMNS: Final = ("review_id", "order_id", "customer_id")


@dataclass(frozen=True)
class Group:
    """Rows that must stay on one side."""

    key: str
    """Its identity: the smallest of its sources' names, or its prompt's id."""
    rows: tuple[int, ...]
    """Row numbers, ascending."""
    tasks: Counter[str]
    """How many of its rows each task has."""


class LeakageError(RuntimeError):
    """A split was made that shares something between its sides: a fault of this program."""


def find_groups(table: pl.DataFrame) -> list[Group]:
    """Return the groups of a prompt table, in the order of their first rows."""
    paraphrased = frozenset(table["parent_id"].drop_nulls())
    names = [
        _source_names(row, paraphrased) for row in table.select("prompt_id", "parent_id", *SOURCE_COLUMNS).to_dicts()
    ]
    parents = {name: name for row_names in names for name in row_names}

    def root(name: str) -> str:
        while parents[name] != name:
            parents[name] = parents[parents[name]]
            name = parents[name]
        return name

    for first, *others in names:
        for other in others:
            roots = sorted((root(first), root(other)))
            # The smaller name stays the root, so that a group's identity does not depend on the order of rows.
            parents[roots[1]] = roots[0]
    members: defaultdict[str, list[int]] = defaultdict(list)
    for index, (first, *_) in enumerate(names):
        members[root(first)].append(index)
    tasks = table["task"].to_list()
    return [Group(key, tuple(rows), Counter(tasks[row] for row in rows)) for key, rows in members.items()]


def assign(table: pl.DataFrame, validation_per_task: int, test_per_task: int, seed: int) -> list[str | None]:
    """Return each row's split, or None where it can be in none without leakage.

    Args:
        table: Prompts without duplicates; each task in it has more rows than validation and test take of it.
        validation_per_task: Rows that validation has of each task in the table.
        test_per_task: Rows that test has of each task in the table.
        seed: Key of the hash that orders the groups.

    Raises:
        InputError: The rows of a task hang together so that they cannot be split into these sizes.
    """
    tasks: list[str] = table["task"].to_list()
    present = [task for task in TASK_NAMES if task in tasks]
    needs: dict[str, Counter[str]] = {
        "test": Counter(dict.fromkeys(present, test_per_task)),
        "validation": Counter(dict.fromkeys(present, validation_per_task)),
    }
    splits: list[str | None] = ["train"] * table.height
    for_train: list[Group] = []
    for group in sorted(find_groups(table), key=lambda group: hashlib.sha256(f"{seed}:{group.key}".encode()).digest()):
        side = next((side for side, need in needs.items() if group.tasks <= need), None)
        if side is None:
            for_train.append(group)
        else:
            _move(group, side, needs[side], tasks, splits)
    for side, need in needs.items():
        while need.total():
            candidates = [group for group in for_train if group.tasks & need]
            if not candidates:
                _refuse(need, side)
            chosen = min(candidates, key=lambda group: (group.tasks - need).total())
            for_train.remove(chosen)
            _move(chosen, side, need, tasks, splits)
    untrained = [task for task in present if not any(group.tasks[task] for group in for_train)]
    if untrained:
        _refuse(Counter(dict.fromkeys(untrained, 1)), "train")
    return splits


def prove_no_leakage(splits: Mapping[str, pl.DataFrame]) -> None:
    """Check that no prompt, with its paraphrases, and no review, order or customer is on two sides.

    Raises:
        LeakageError: One is; says which sides and what they share, and how often.
    """
    for first, second in itertools.combinations(splits, 2):
        for column in ("prompt_id", *SOURCE_COLUMNS):
            shared = set(splits[first][column].drop_nulls()) & set(splits[second][column].drop_nulls())
            if shared:
                raise LeakageError(f"{first} and {second} share {len(shared)} {column}, such as {min(shared)}")
        related = _prompts_and_parents(splits[first]) & _prompts_and_parents(splits[second])
        if related:
            raise LeakageError(f"{first} and {second} share {len(related)} parent_id, such as {min(related)}")


def _prompts_and_parents(table: pl.DataFrame) -> set[str]:
    return {*table["prompt_id"], *table["parent_id"].drop_nulls()}


def _source_names(row: Mapping[str, str | None], paraphrased: frozenset[str | None]) -> list[str]:
    names = [f"{column}:{row[column]}" for column in SOURCE_COLUMNS if row[column] is not None]
    if row["parent_id"] is not None:
        # The parent itself may be in quarantine: its paraphrases still belong together.
        names.append(f"prompt_id:{row['parent_id']}")
    if row["prompt_id"] in paraphrased or not names:
        names.append(f"prompt_id:{row['prompt_id']}")
    return names


def _move(group: Group, side: str, need: Counter[str], tasks: list[str], splits: list[str | None]) -> None:
    """Give a group's rows to a side as far as it needs them; the rest belong nowhere."""
    for row in group.rows:
        task = tasks[row]
        splits[row] = side if need[task] else None
        need[task] -= bool(need[task])


def _refuse(need: Counter[str], side: str) -> NoReturn:
    short = ", ".join(f"{task} ({count} more)" for task, count in (+need).items())
    raise InputError(
        f"{side} lacks rows of {short}: too many prompts share a customer, an order or a review; "
        "raise synthesize.counts or lower curate.test_per_task"
    )
