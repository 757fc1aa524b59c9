"""Profile for a shop's files: how many prompts they give, and splits that fit."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from schemas.config.config import Config
from schemas.store.column_map import reference_fields
from schemas.store.mapped_tables import NEEDED_BY_TASK
from schemas.tasks import TASK_NAMES, TaskName
from tasks.synthesize.columns.recognize import READS_REVIEWS, MapSection, Recognized, required_inputs

FEWEST: Final = 60
"""Rows of a task below which it is left out: its test split would say nothing."""
_TRAINED: Final = 0.5
"""Share of the rows that surely stays for training, after held-out customers and copies are taken out."""
_TESTED: Final = 0.1
_VALIDATED: Final = 0.04
"""Shares of the rows that validation and test take: of the quarter that is held out, less what the quarantine takes."""

_UNKNOWN: Final = "no right answers to learn from; map one or more of"


@dataclass(frozen=True)
class TaskPlan:
    """What the files give for one task."""

    task: TaskName
    """The task."""
    rows: int | None
    """Rows that are prompts of it; None where prompts are made from tables, as many as are asked for."""
    count: int
    """Prompts to make; 0 where it cannot be trained."""
    missing: str | None
    """What the files lack; None where nothing."""

    @property
    def from_tables(self) -> bool:
        """Return whether its prompts are made from tables."""
        return self.rows is None and self.missing is None


@dataclass(frozen=True)
class ShopPlan:
    """What the files give for all tasks, and sizes of splits that fit."""

    tasks: tuple[TaskPlan, ...]
    """The tasks in the project's order."""
    validation: Mapping[TaskName, int]
    """Validation prompts of each task."""
    test: Mapping[TaskName, int]
    """Test prompts of each task."""
    fewest_trained: int
    """Least training prompts of a task."""

    @property
    def trained(self) -> tuple[TaskName, ...]:
        """Return the tasks that can be trained."""
        return tuple(plan.task for plan in self.tasks if plan.count)


def plan(recognized: Recognized, local: Config) -> ShopPlan:
    """Return how many prompts of each task to make.

    Args:
        recognized: What was found.
        local: The profile that is extended: its counts are the most, those of tasks that cannot be trained going to
            the others in equal parts.
    """
    counts = local.synthesize.counts
    by_themselves = [_of_task(task, recognized, counts.get(task, 0)) for task in TASK_NAMES]
    times = len(TASK_NAMES) / max(sum(each.count > 0 for each in by_themselves), 1)
    tasks = tuple(_at_most(each, int(times * counts.get(each.task, 0))) for each in by_themselves)
    fewest = min((each.count for each in tasks if each.count), default=FEWEST)
    return ShopPlan(
        tasks,
        validation=_held_out(tasks, _VALIDATED, lambda task: int(times * local.curate.validation_rows(task))),
        test=_held_out(tasks, _TESTED, lambda task: int(times * local.curate.test_rows(task))),
        fewest_trained=min(int(_TRAINED * fewest), local.train.preflight.min_prompts_per_task),
    )


def profile_text(planned: ShopPlan, confirmed: ShopPlan, column_map: Path) -> str:
    """Return the profile."""
    more = confirmed.trained != planned.trained
    sizes = confirmed if more else planned
    lines = [
        "# Profile for your own files, written by `tucano init`: what differs from infra/profiles/local.toml.",
        'extends = "local"',
        "",
        "[synthesize]",
        'source = "files"',
        f"files = {_quoted(column_map)}",
        *(f"# {line}" for each in planned.tasks for line in _explained(each)),
        f"counts = {_counts(planned)}",
        *([f"# confirm, once the column map is:\n# counts = {_counts(confirmed)}"] if more else []),
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


def _held_out(tasks: Sequence[TaskPlan], share: float, most: Callable[[TaskName], int]) -> Mapping[TaskName, int]:
    return {each.task: min(max(2, int(share * each.count)), most(each.task)) for each in tasks}


def _counts(planned: ShopPlan) -> str:
    return _by_task({each.task: each.count for each in planned.tasks})


def _by_task(numbers: Mapping[TaskName, int]) -> str:
    return f"{{ {', '.join(f'{task} = {number}' for task, number in numbers.items())} }}"


def _explained(each: TaskPlan) -> Iterator[str]:
    if each.missing is not None:
        yield f"{each.task}: {each.missing}"
    elif each.rows is not None:
        yield f"{each.task}: {each.rows:,} different rows"
    else:
        yield f"{each.task}: made from the tables, as many as you ask for"


def _of_task(task: TaskName, recognized: Recognized, most: int) -> TaskPlan:
    sections = recognized.prompts(task)
    rows = [_different(section) for section in sections if _knows_an_answer(section)]
    missing = _missing(task, recognized)
    if sections and not rows and missing is not None:
        return TaskPlan(task, sum(map(_different, sections)), 0, f"{_UNKNOWN} {', '.join(reference_fields(task))}")
    if task in READS_REVIEWS and missing is None:
        section = recognized.table("reviews")
        rows += [_texts(section, "review_comment_message")] if section else []
    if rows:
        found = sum(rows)
        few = f"only {found:,} different texts, and {FEWEST} are the least" if found < FEWEST else None
        return TaskPlan(task, found, 0 if few else min(found, most), few)
    hazards = recognized.table("customer_hazards")
    if task == "churn" and hazards is not None and missing is None:
        known = _texts(hazards, "customer_unique_id")
        return TaskPlan(task, known, min(known, most), None)
    return TaskPlan(task, None, 0 if missing else most, missing)


def _at_most(each: TaskPlan, most: int) -> TaskPlan:
    """Return a plan with as many prompts as its rows are, at most this many; none where it cannot be trained."""
    return replace(each, count=most if each.rows is None else min(each.rows, most)) if each.count else each


def _knows_an_answer(section: MapSection) -> bool:
    """Return whether training can compare answers with a right one: a push is compared with its own inputs."""
    return section.name == "push" or any(choice.sure for choice in section.reference)


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


def _quoted(path: Path) -> str:
    return '"' + path.as_posix().replace("\\", "\\\\").replace('"', '\\"') + '"'
