"""Texts that `tucano init` writes: the column map, and a profile with counts and splits that fit the files."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemas.config.config import Config
from schemas.store.column_map import NEEDED_BY_TASK, ORDER_STATUSES, reference_fields
from schemas.tasks import TASK_NAMES, TaskName
from tasks.synthesize.columns.choices import ColumnChoice
from tasks.synthesize.columns.recognize import READS_REVIEWS, MapSection, Recognized, required_inputs, undecided

_HEAD: Final = """\
# Column map, written by `tucano init`: a key is a column of ours, its value the column of your file. Read it before it
# is used. A line with `# confirm` is not used until you remove its first `#`, and a status with such values is refused
# until you do: orders that are canceled by it would count. What the columns mean: docs/your-data.md.
"""
FEWEST: Final = 60
"""Rows of a task below which it is left out: its test split would say nothing."""
_TRAINED: Final = 0.5
"""Share of the rows that surely stays for training, after held-out customers and copies are taken out."""
_TESTED: Final = 0.1
_VALIDATED: Final = 0.04
"""Shares of the rows that validation and test take: of the quarter that is held out, less what the quarantine takes."""


def column_map_text(recognized: Recognized, folder: Path, *, confirmed: bool = False) -> str:
    """Return the column map, with paths relative to its folder.

    With `confirmed`, dates and decimals are as proposed where no cell tells them, and what tells of canceled orders is
    left out where it waits to be completed.
    """
    parts = ["\n".join(_section(section, folder, confirmed=confirmed)) for section in recognized.sections]
    for file in recognized.files:
        lines = [f"# - {why}: {', '.join(map(_quoted, names))}" for why, names in recognized.left_out(file).items()]
        parts += ["\n".join([f"# {_quoted(file.path.name)}:", *lines])] * bool(lines)
    return "\n\n".join([_HEAD.rstrip(), *parts]) + "\n"


def _section(section: MapSection, folder: Path, *, confirmed: bool) -> Iterator[str]:
    kind = "tables" if section.is_table else "prompts"
    # A section that is not sure as a whole would be refused without the columns that are to be confirmed.
    mark = "" if section.is_sure else "# "
    if mark:
        yield "# confirm this whole section: remove the first `#` of each line that is right"
    path = os.path.relpath(section.file.path.resolve(), folder.resolve())
    yield f"{mark}[[{kind}]]"
    yield f"{mark}{'table' if section.is_table else 'task'} = {_quoted(section.name)}"
    yield f"{mark}path = {_quoted(Path(path).as_posix())}"
    open_mark = mark if confirmed else "# "
    yield from (f"{open_mark}{line}  # confirm: {why}" for line, why in undecided(section))
    marks = {each.ours: mark if each.sure or (each.waits and not confirmed) else "# " for each in section.choices}
    for name, choices in (("columns", section.columns), ("reference", section.reference)):
        if choices:
            yield f"{mark}[{kind}.{name}]"
            yield from (_line(choice, marks[choice.ours]) for choice in choices)
    for choice in section.choices:
        if choice.values or choice.unknown:
            comment = marks[choice.ours]
            yield f"{comment}[{kind}.values.{choice.ours}]"
            yield from (f"{comment}{_quoted(theirs)} = {_quoted(ours)}" for theirs, ours in choice.values.items())
            meant = f"one of {', '.join(ORDER_STATUSES)}" if choice.waits else "one of ours"
            for theirs, ours in choice.unknown.items():
                yield f"# {_quoted(theirs)} = {_quoted(ours)}  # confirm: {meant}, or nothing"


def _line(choice: ColumnChoice, mark: str) -> str:
    line = f"{choice.ours} = {_quoted(choice.theirs)}"
    if choice.waits and not mark:
        return f"{line}  # or remove this line: {choice.why}"
    return f"{mark}{line}  # {choice.why}" if choice.sure else f"# {line}  # confirm: {choice.why}"


def _quoted(text: str) -> str:
    """Return a basic string of TOML: JSON's escapes are TOML's, but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


@dataclass(frozen=True)
class TaskPlan:
    """Prompts that the files give for one task."""

    task: TaskName
    rows: int | None
    """Rows that are prompts of it; None where prompts are made from tables, as many as are asked for."""
    count: int
    """Prompts to make; 0 where it cannot be trained."""
    missing: str | None
    """What the files lack; None where nothing."""


@dataclass(frozen=True)
class ShopPlan:
    """Prompts that the files give for all tasks, and sizes of splits that fit."""

    tasks: tuple[TaskPlan, ...]
    validation: Mapping[TaskName, int]
    test: Mapping[TaskName, int]
    fewest_trained: int

    @property
    def trained(self) -> tuple[TaskName, ...]:
        """Return the tasks that can be trained."""
        return tuple(plan.task for plan in self.tasks if plan.count)


def plan(recognized: Recognized, local: Config) -> ShopPlan:
    """Return how many prompts of each task to make.

    The counts of the profile that is extended are the most; those of tasks that cannot be trained go to the others in
    equal parts.
    """
    counts = local.synthesize.counts
    found = {task: _rows_of(task, recognized) for task in TASK_NAMES}
    able = [task for task, (_, missing) in found.items() if missing is None and counts.get(task)]
    times = len(TASK_NAMES) / max(len(able), 1)
    most = {task: int(times * counts.get(task, 0)) if task in able else 0 for task in TASK_NAMES}
    tasks = tuple(
        TaskPlan(task, rows, most[task] if rows is None else min(rows, most[task]), missing)
        for task, (rows, missing) in found.items()
    )
    fewest = min((each.count for each in tasks if each.count), default=FEWEST)

    def held_out(share: float, size: int, each: TaskPlan) -> int:
        return min(max(2, int(share * each.count)), int(times * size))

    return ShopPlan(
        tasks,
        {each.task: held_out(_VALIDATED, local.curate.validation_rows(each.task), each) for each in tasks},
        {each.task: held_out(_TESTED, local.curate.test_rows(each.task), each) for each in tasks},
        min(int(_TRAINED * fewest), local.train.preflight.min_prompts_per_task),
    )


def profile_text(planned: ShopPlan, confirmed: ShopPlan, column_map: Path) -> str:
    """Return the profile, with the counts once every column that is to be confirmed is as a comment."""
    more = confirmed.trained != planned.trained
    sizes = confirmed if more else planned
    lines = [
        "# Profile for your own files, written by `tucano init`: what differs from infra/profiles/local.toml.",
        'extends = "local"',
        "",
        "[synthesize]",
        'source = "files"',
        f"files = {json.dumps(str(column_map), ensure_ascii=False)}",
        *(f"# {each.task}: {each.missing or _found(each.rows)}" for each in planned.tasks),
        f"counts = {_by_task({each.task: each.count for each in planned.tasks})}",
    ]
    if more:
        counts = _by_task({each.task: each.count for each in confirmed.tasks})
        lines += ["# confirm, once the column map is:", f"# counts = {counts}"]
    lines += [
        "",
        "[curate]",
        "# What fits into the quarter of the customers that is never trained on.",
        f"validation_per_task = {_by_task(sizes.validation)}",
        f"test_per_task = {_by_task(sizes.test)}",
        "",
        "[train.preflight]",
        "# What is left of the smallest task for training.",
        f"min_prompts_per_task = {sizes.fewest_trained}",
    ]
    return "\n".join(lines) + "\n"


def _by_task(numbers: Mapping[TaskName, int]) -> str:
    return f"{{ {', '.join(f'{task} = {number}' for task, number in numbers.items())} }}"


def _found(rows: int | None) -> str:
    return "made from the tables, as many as you ask for" if rows is None else f"{rows:,} different rows"


def _rows_of(task: TaskName, recognized: Recognized) -> tuple[int | None, str | None]:
    """Return the different rows of a task, None where prompts are made from tables, and what is missing."""
    sections = recognized.prompts(task)
    # Training compares answers with a right one: a push with its own inputs.
    rows = [_different(each) for each in sections if task == "push" or any(choice.sure for choice in each.reference)]
    missing = _missing(task, recognized)
    if sections and not rows and missing is not None:
        fields = ", ".join(reference_fields(task))
        return sum(map(_different, sections)), f"no right answers to learn from; map one or more of {fields}"
    if task in READS_REVIEWS and missing is None:
        section = recognized.table("reviews")
        rows += [_texts(section, "review_comment_message")] if section else []
    if rows:
        found = sum(rows)
        return found, f"only {found:,} different texts, and {FEWEST} are the least" if found < FEWEST else None
    hazards = recognized.table("customer_hazards")
    if task == "churn" and hazards is not None and missing is None:
        return _texts(hazards, "customer_unique_id"), None
    return None, missing


def _different(section: MapSection) -> int:
    inputs = [choice.theirs for choice in section.columns if choice.sure and not choice.ours.endswith("_id")]
    return section.file.cells.select(inputs).drop_nulls(inputs[0]).unique().height


def _texts(section: MapSection, ours: str) -> int:
    column = section.column(ours)
    return 0 if column is None else section.file.cells[column].drop_nulls().n_unique()


def _missing(task: TaskName, recognized: Recognized) -> str | None:
    """Return what the tables lack for a task; None where nothing."""
    faults = []
    for table, columns in NEEDED_BY_TASK[task].items():
        section = recognized.table(table)
        lacking = [name for name in columns if section is None or section.column(name) is None]
        if section is None:
            faults.append(f"table {table} ({', '.join(columns)})")
        elif lacking:
            faults.append(f"{', '.join(lacking)} in table {table}")
    if not faults:
        return None
    unsure = sorted({c.ours for s in recognized.sections if s.name == task for c in s.choices if not c.sure})
    if unsure:
        return f"confirm {', '.join(unsure)}"
    return f"needs {'; '.join(faults)}; or rows with {', '.join(required_inputs(task))}"
