"""Scoreboard: entries as JSON files, one for each model on one benchmark, and a page made of them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.errors import InputError
from schemas.faults import first_fault
from schemas.shown_text import as_shown
from schemas.tasks import TASK_NAMES, TaskName
from tasks.benchmark.folder import ITEMS_FILE

Interval = tuple[float, float, float]

HEAD: Final = """# Scoreboard

<!-- Made by `tucano benchmark scoreboard` of benchmarks/scoreboard; change the entries, not this page. -->

Rewards and ground truth on the [benchmark](benchmark.md), each a mean with its 95 % interval over the questions. Ground
truth is no reward: a right answer by the strictest measure of its task. [Add a model](benchmark.md#add-a-model).
"""


class TaskEntry(BaseModel):
    """Scores of one task."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    n: int = Field(ge=1)
    reward: Interval
    """Mean, and both ends of the interval."""
    truth: Interval | None


class Entry(BaseModel):
    """One model on one benchmark."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=60)
    """The model, as the page calls it."""
    kind: Literal["stand-in", "model"]
    """`stand-in` for the laptop's small model, which shows the pipeline and is compared with none."""
    date: date
    versions: dict[str, str] = Field(default_factory=dict)
    """Versions of what answered, by name."""
    answered: str
    """What answered and how: the model's own name and its decoding."""
    dollars_per_1000: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Cost of a thousand answers in US dollars; None if unknown."""
    benchmark: dict[str, Any]
    """The card's seed, version, reward versions and digests."""
    tasks: dict[TaskName, TaskEntry]


def read_entries(folder: Path) -> tuple[Entry, ...]:
    """Read the entries of a folder, by their file names.

    Raises:
        InputError: A file is no entry.
    """
    entries = []
    for path in sorted(folder.glob("*.json")):
        try:
            entries.append(Entry.model_validate_json(path.read_bytes()))
        except ValidationError as error:
            raise InputError(f"scoreboard entry {path}: {first_fault(error)}; write it with --entry") from None
    return tuple(entries)


def as_entry(scored: Mapping[str, Any], card: Mapping[str, Any], **said: Any) -> Entry:
    """Return the entry of scored answers.

    Args:
        scored: What `score_answers` returned.
        card: The benchmark's card.
        said: The other fields of the entry.
    """
    benchmark = {name: card[name] for name in ("seed", "version", "reward_versions", "sha256") if name in card}
    return Entry(benchmark=benchmark, tasks=scored["tasks"], **said)


def write_entry(path: Path, entry: Entry) -> None:
    """Write an entry; equal entries give equal bytes."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps(entry.model_dump(mode="json"), option=options))


def page(entries: Sequence[Entry]) -> str:
    """Return the page as Markdown: a table for each benchmark and measure, since other questions are not compared."""
    boards: defaultdict[tuple[int, str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        digest = str(entry.benchmark.get("sha256", {}).get(ITEMS_FILE, ""))
        rewards = "".join(str(version)[:4] for _, version in sorted(entry.benchmark.get("reward_versions", {}).items()))
        boards[int(entry.benchmark.get("seed", 0)), digest, rewards].append(entry)
    parts = [HEAD]
    for (seed, digest, _), found in sorted(boards.items()):
        found.sort(key=lambda entry: -_mean(entry, "reward"))
        parts.append(f"## Benchmark {seed}\n\n`{ITEMS_FILE}` {digest[:12]}, rewards of version {_version(found[0])}.\n")
        parts += [f"### {measure.capitalize()}\n\n{_table(found, measure)}" for measure in ("reward", "truth")]
    if not entries:
        parts.append("There is no entry yet.\n")
    return "\n".join(parts)


def _version(entry: Entry) -> str:
    return as_shown(str(entry.benchmark.get("version", "unknown")))


def _mean(entry: Entry, measure: str) -> float:
    values = [found[0] for task in entry.tasks.values() if (found := getattr(task, measure)) is not None]
    return sum(values) / len(values) if values else 0.0


def _table(entries: Sequence[Entry], measure: str) -> str:
    tasks = [task for task in TASK_NAMES if any(task in entry.tasks for entry in entries)]
    header = ["model", "mean", *tasks, "$ for 1,000", "date", "answered by"]
    rows = [header, ["---"] * len(header)]
    for entry in entries:
        cells = [_cell(getattr(entry.tasks[task], measure)) if task in entry.tasks else "" for task in tasks]
        cost = "" if entry.dollars_per_1000 is None else f"{entry.dollars_per_1000:.3g}"
        versions = ", ".join(f"{name} {version}" for name, version in sorted(entry.versions.items()))
        answered = f"{entry.answered}{f' ({versions})' if versions else ''}"
        mark = " *(stand-in)*" if entry.kind == "stand-in" else ""
        rows.append(
            [
                f"{_plain(entry.name)}{mark}",
                f"{_mean(entry, measure):.3f}",
                *cells,
                cost,
                str(entry.date),
                _plain(answered),
            ]
        )
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cell(found: Interval | None) -> str:
    return "" if found is None else f"{found[0]:.3f} ({found[1]:.3f} to {found[2]:.3f})"


def _plain(text: str) -> str:
    """Return a text that Markdown reads as nothing but text: an entry comes from anybody."""
    return "".join(
        f"&#{ord(sign)};" if sign in "|<>`*_[]()&\\#!~" else sign for sign in as_shown(text).replace("\n", " ")
    )
