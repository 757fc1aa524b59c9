"""Texts that `tucano init` writes: the column map, and a profile with counts and splits that fit the files."""

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

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
MOST_PROMPTS: Final = 20_000  # Prompts of a task beyond which an epoch takes a laptop days.
_TEXT: Final = "text"
FEWEST: Final = 60  # Rows of a task below which it is left out: its test split would say nothing.
_TRAINED: Final = 0.5
"""Share of the rows that surely stays for training, after held-out customers and copies are taken out."""
_TESTED: Final = 0.1
_VALIDATED: Final = 0.04
"""Shares of the rows that validation and test take: of the quarter that is held out, less what the quarantine takes."""


def column_map_text(recognized: Recognized, folder: Path) -> str:
    """Return the column map, with paths relative to its folder."""
    parts = ["\n".join(_section(section, folder)) for section in recognized.sections]
    for file in recognized.files:
        lines = [f"# - {why}: {', '.join(map(_quoted, names))}" for why, names in recognized.left_out(file).items()]
        parts += ["\n".join([f"# {_quoted(file.path.name)}:", *lines])] * bool(lines)
    return "\n\n".join([_HEAD.rstrip(), *parts]) + "\n"


def _section(section: MapSection, folder: Path) -> Iterator[str]:
    kind = "tables" if section.is_table else "prompts"
    # A section that is not sure as a whole would be refused without the columns that are to be confirmed.
    mark = "" if section.is_sure else "# "
    if mark:
        yield "# confirm this whole section: remove the first `#` of each line that is right"
    path = os.path.relpath(section.file.path.resolve(), folder.resolve())
    yield f"{mark}[[{kind}]]"
    yield f"{mark}{'table' if section.is_table else 'task'} = {_quoted(section.name)}"
    yield f"{mark}path = {_quoted(Path(path).as_posix())}"
    yield from (f"# {line}  # confirm: {why}" for line, why in undecided(section))
    marks = {each.ours: mark if each.sure or each.waits else "# " for each in section.choices}
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
    """Different rows that are prompts of it; None where prompts are made from tables, as many as are asked for."""
    count: int
    """Prompts to make, copies among them; 0 where it cannot be trained."""
    missing: str | None
    """What the files lack; None where nothing."""

    @property
    def different(self) -> int:
        """Return how many of the prompts are no copies of others."""
        return self.count if self.rows is None else min(self.rows, self.count)


def plan(recognized: Recognized, local: Config, tasks: Collection[TaskName] = TASK_NAMES) -> list[TaskPlan]:
    """Return how many prompts of each task to make.

    All rows that are prompts are used; of those that are made from tables the counts of the profile that is extended
    are the most, and those of tasks that cannot be trained go to the others in equal parts.
    """
    counts = local.synthesize.counts
    found = [
        _rows_of(task, recognized) if task in tasks else TaskPlan(task, None, 0, "not asked for") for task in TASK_NAMES
    ]
    able = [each.task for each in found if each.missing is None and counts.get(each.task)]
    most = {task: int(len(TASK_NAMES) / len(able) * counts[task]) for task in able}
    return [
        replace(each, count=most.get(each.task, 0) if each.rows is None else min(each.count, MOST_PROMPTS))
        for each in found
    ]


def profile_text(planned: Sequence[TaskPlan], confirmed: Sequence[TaskPlan], column_map: Path, local: Config) -> str:
    """Return the profile, with the counts once every column that is to be confirmed is as a comment."""
    counts, more = (_by_task({each.task: each.count for each in plans}) for plans in (planned, confirmed))
    trained = [each for each in confirmed if each.count]
    times = len(TASK_NAMES) / max(len(trained), 1)

    def held_out(share: float, rows: Callable[[TaskName], int]) -> str:
        """Return the rows of a split, for tasks that can be trained: others need no number."""
        sizes = {each.task: (max(2, int(share * each.different)), int(times * rows(each.task))) for each in trained}
        return _by_task({task: min(size) for task, size in sizes.items()})

    batch = local.warm_start.batch_size
    prompts = int((1 - local.curate.held_out_share) * sum(each.different for each in planned))
    steps = max(local.warm_start.steps, -(-prompts // batch))
    fewest = min((each.different for each in trained), default=FEWEST)
    lines = [
        "# Profile for your own files, written by `tucano init`: what differs from infra/profiles/local.toml.",
        'extends = "local"',
        "",
        "[synthesize]",
        'source = "files"',
        f"files = {json.dumps(str(column_map), ensure_ascii=False)}",
        *(f"# {each.task}: {each.missing or _found(each)}" for each in planned),
        f"counts = {counts}",
        *([f"# confirm, once the column map is:\n# counts = {more}"] if more != counts else []),
        "",
        "[curate]",
        "# What fits into the quarter of the customers that is never trained on.",
        f"validation_per_task = {held_out(_VALIDATED, local.curate.validation_rows)}",
        f"test_per_task = {held_out(_TESTED, local.curate.test_rows)}",
        "",
        "[warm_start]",
        f"# One epoch at least: {batch} prompts a step, of about {prompts:,} that are left to train on.",
        f"steps = {steps}",
        "",
        "[train.preflight]",
        "# What is left of the smallest task for training.",
        f"min_prompts_per_task = {min(int(_TRAINED * fewest), local.train.preflight.min_prompts_per_task)}",
    ]
    return "\n".join(lines) + "\n"


def _by_task(numbers: Mapping[TaskName, int]) -> str:
    return f"{{ {', '.join(f'{task} = {number}' for task, number in numbers.items())} }}"


def _found(planned: TaskPlan) -> str:
    if planned.rows is None:
        return "made from the tables, as many as you ask for"
    more = f", of which {MOST_PROMPTS:,} are enough for a laptop" if planned.rows > MOST_PROMPTS else ""
    return f"{planned.rows:,} different rows{more}"


def _rows_of(task: TaskName, recognized: Recognized) -> TaskPlan:
    """Return all rows of a task as its prompts, as far as something of the right answer is known."""
    sections = recognized.prompts(task)
    # Training compares answers with a right one: a push with its own inputs.
    learned = [each for each in sections if task == "push" or any(choice.sure for choice in each.reference)]
    usable = [rows for each in learned if (rows := _usable(each)).height]
    missing = _missing(task, recognized)
    if sections and not usable and missing is not None:
        found = sum(_usable(each)[_TEXT].n_unique() for each in sections)
        fields = ", ".join(reference_fields(task))
        return TaskPlan(task, found, 0, f"no right answers to learn from; map one or more of {fields}")
    reviews, hazards = recognized.table("reviews"), recognized.table("customer_hazards")
    if task in READS_REVIEWS and missing is None and reviews is not None:
        text, answer = (
            [c for c in reviews.columns if c.ours == name] for name in ("review_comment_message", "review_score")
        )
        usable.append(_usable(replace(reviews, columns=tuple(text), reference=tuple(answer))).unique(_TEXT))
    if task == "churn" and missing is None and hazards is not None and not usable:
        person = [choice for choice in hazards.columns if choice.ours == "customer_unique_id"]
        different = hazards.file.cells[person[0].theirs].drop_nulls().n_unique()
        return TaskPlan(task, different, different, None)
    if not usable:
        return TaskPlan(task, None, 0, missing)
    rows = pl.concat(usable, how="diagonal")
    answers, different = rows.drop(_TEXT), rows[_TEXT].n_unique()
    if different < FEWEST:
        return TaskPlan(task, different, 0, f"only {different:,} different texts, and {FEWEST} are the least")
    if answers.width and answers.unique().height == 1:
        why = f"all {rows.height:,} right answers are the same, from which nothing is learned"
        return TaskPlan(task, different, 0, why)
    return TaskPlan(task, different, rows.height, None)


def _usable(section: MapSection) -> pl.DataFrame:
    """Return the rows with an input and a known answer: their inputs as one text, and the answers by field."""
    inputs = [choice.theirs for choice in section.columns if choice.sure and not choice.ours.endswith("_id")]
    known = [choice for choice in section.reference if choice.sure]
    rows = section.file.cells.drop_nulls(inputs[0]).select(
        pl.concat_str(inputs, separator="\0", ignore_nulls=True).alias(_TEXT),
        # A value may mean nothing, such as that a customer gave no answer.
        *(
            pl.col(each.theirs).replace({theirs: ours or None for theirs, ours in each.values.items()}).alias(each.ours)
            for each in known
        ),
    )
    return rows.filter(pl.any_horizontal(pl.col(each.ours).is_not_null() for each in known)) if known else rows


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
