"""Rewards of logged answers, each distinct one scored once in parallel, and baselines by the same rule.

A reward without a reference is not comparable to one with it: known parts take the weight of unknown ones. So a task's
answers are scored by the parts that all of their references know, and all of the test split's
(`tasks.monitor.known_parts`). The champion's answers to the test split are scored in the same way, which keeps the
comparison fair. It also makes a change of the rewards harmless: both sides are scored by the same code.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import orjson
import polars as pl

from schemas.documents import Rollout
from schemas.progress import Progress, silent
from schemas.tasks import SpecName, TaskName
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.sql_qa.open_databases import open_databases
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.text.parser import parse_object
from tasks.monitor.answered import is_answer
from tasks.monitor.baseline import Baseline
from tasks.monitor.known_parts import with_parts
from tasks.monitor.mean_error import standard_error

KEY: Final = ("task", "prompt", "completion", "reference")
"""Columns that decide a reward."""
SQL_TASK: Final = "sql_qa"
STORE_IS_GONE: Final = "sql_qa, whose queries need the store of the champion's prompts, which is gone"
PROMPT_IS_UNREAD: Final[Mapping[SpecName, frozenset[str]]] = {
    "grounded": frozenset(task.name for task in TASKS.values() if task.prompt_is_unread),
    "v4.2": frozenset(),
}
"""Tasks whose answers need no scoring for each prompt: such answers, small objects and queries of a few kinds, recur
often."""
REFERENCE_IS_UNREAD: Final[Mapping[SpecName, frozenset[str]]] = {
    "grounded": frozenset({"push", "insights"}),
    "v4.2": frozenset(),
}
"""Tasks whose prompt holds all that the reward asks for, so that without a reference more than the form is known."""
ANSWERS_AT_ONCE: Final = 4_000
"""Answers per chunk of a process: a second's work."""


class MapChunks(Protocol):
    """Ordered map of a function over inputs; results come in input order."""

    def __call__(self, function: Callable[[Any], Any], things: Sequence[Any]) -> Iterator[Any]:
        """Yield each result as soon as it and all previous ones are available."""


@dataclass(frozen=True)
class Rewards:
    """Settings of the scoring."""

    spec: SpecName
    """The reward specification."""
    store: Path | None
    """Folder of the store on which generated SQL is run; None: `sql_qa` cannot be scored."""
    references: Mapping[TaskName, frozenset[str]]
    """By task, the parts of the references used for scoring; tasks without any are scored without references."""


class Verdict(NamedTuple):
    """Reward and form of one answer, and whether it is one."""

    reward: float
    valid: bool | None
    """Whether its form is right: JSON and nothing else, or a query that runs; None if the task requires no form."""
    answered: bool
    """Whether it is an answer of any kind (`tasks.monitor.answered`)."""


def scored(answers: pl.DataFrame, rewards: Rewards, map_chunks: MapChunks, progress: Progress = silent) -> pl.DataFrame:
    """Return answers with their `reward`, `valid`, `answered` and `characters`, in order.

    Args:
        answers: `task`, `prompt`, `completion`, `reference` (JSON or null) and any other columns.
        rewards: Settings of the scoring; without a store there must be no answer of `sql_qa`.
        map_chunks: Runs the workers.
        progress: Called with the distinct answers scored.
    """
    answers = with_parts(answers, rewards.references)
    unread = pl.col("task").is_in(list(PROMPT_IS_UNREAD[rewards.spec]))
    read = pl.when(unread).then(pl.lit("")).otherwise(pl.col("prompt")).alias("prompt")
    keys = answers.select(KEY).with_columns(read)
    different = keys.unique(maintain_order=True)
    # Chunks mix all tasks, so they take about equally long and no process waits for the last.
    pieces = [piece.rows() for piece in different.iter_slices(ANSWERS_AT_ONCE)]
    verdicts: list[Verdict] = []
    for found in map_chunks(partial(score_piece, rewards.spec, rewards.store), pieces):
        verdicts += found
        progress(len(verdicts), different.height, "different answers scored")
    known = different.with_columns(
        pl.Series("reward", [verdict.reward for verdict in verdicts], pl.Float64),
        pl.Series("valid", [verdict.valid for verdict in verdicts], pl.Boolean),
        pl.Series("answered", [verdict.answered for verdict in verdicts], pl.Boolean),
    )
    worth = keys.join(known, on=KEY, how="left", nulls_equal=True, maintain_order="left")
    return answers.with_columns(
        *(worth[name] for name in Verdict._fields),
        pl.col("completion").str.len_chars().cast(pl.Int64).alias("characters"),
    )


def score_piece(
    spec: SpecName, store: Path | None, rows: Sequence[tuple[TaskName, str, str, str | None]]
) -> list[Verdict]:
    """Score some answers: each a task, a prompt, a completion and a reference as JSON with a working query."""
    databases = _databases(store) if store else None
    return [_verdict(spec, databases, *row) for row in rows]


def _verdict(
    spec: SpecName, databases: Databases | None, task: TaskName, prompt: str, completion: str, reference: str | None
) -> Verdict:
    document = orjson.loads(reference) if reference else None
    # Validated when it was read.
    rollout = Rollout.model_construct(
        prompt_id="logged", task=task, prompt=prompt, completion=completion, reference=document
    )
    found = score_rollout(rollout, databases, spec)
    answered = is_answer(task, prompt, completion)
    if TASKS[task].answers_in_json:
        return Verdict(found.reward, parse_object(completion).cleanliness == 1.0, answered)
    if task == SQL_TASK and databases is not None:
        # With a reference, a query that runs counts as valid only if it is relevant.
        known = found.components
        if document is not None or spec == "v4.2":
            known = dict(TASKS[task].rewards["grounded"].score(completion, prompt, None, databases).components)
        return Verdict(found.reward, known["valid"] == 1.0, answered)
    return Verdict(found.reward, None, answered)


@cache
def _databases(store: Path) -> Databases:
    return open_databases(store)


def champion_answers(file: Path) -> pl.DataFrame:
    """Read the champion's answers to the test split, as a table with `prompt_id` and the columns of `KEY`.

    Raises:
        InputError: The file cannot be read, or is no file of rollouts.
    """
    from schemas.tables.rollout_tables import Rollouts, read_rollouts
    from schemas.tables.table_check import as_table

    return as_table(read_rollouts(file), Rollouts)


def without_broken_queries(
    answers: pl.DataFrame, spec: SpecName, store: Path | None, map_chunks: MapChunks
) -> tuple[pl.DataFrame, int]:
    """Return answers without reference queries that fail, and the number of answers that had one.

    A query may name a person, so it is never reported.
    """
    if store is None or spec == "v4.2":
        return answers, 0
    of_sql = answers.filter(pl.col("task") == SQL_TASK)["reference"].drop_nulls().unique(maintain_order=True).to_list()
    pieces = [of_sql[begin : begin + ANSWERS_AT_ONCE] for begin in range(0, len(of_sql), ANSWERS_AT_ONCE)]
    run = [runs for found in map_chunks(partial(queries_run, store), pieces) for runs in found]
    broken = pl.Series([text for text, runs in zip(of_sql, run, strict=True) if not runs], dtype=pl.String)
    is_broken = (pl.col("task") == SQL_TASK) & pl.col("reference").is_in(broken.implode())
    counted = pl.when(is_broken.fill_null(value=False)).then(None).otherwise(pl.col("reference")).alias("reference")
    return answers.with_columns(counted), answers.filter(is_broken).height


def queries_run(store: Path, references: Sequence[str]) -> list[bool]:
    """Return for each `sql_qa` reference, as JSON, whether its query runs on every copy of the store, or is unknown."""
    databases = _databases(store)
    queries = [orjson.loads(reference)["sql"] for reference in references]
    return [
        query is None or all(execution.refusal is None for execution in databases.run_reference(query))
        for query in queries
    ]


def kept_where(answers: pl.DataFrame, spec: SpecName, store: Path | None) -> tuple[pl.DataFrame, Mapping[str, int]]:
    """Return the answers that can be scored, and the number of others by reason."""
    if store is not None or spec == "v4.2":
        return answers, {}
    kept = answers.filter(pl.col("task") != SQL_TASK)
    lost = answers.height - kept.height
    return kept, {STORE_IS_GONE: lost} if lost else {}


def baselines_of(tested: pl.DataFrame, measured: str = "reward") -> dict[str, Baseline]:
    """Return the baselines from scored answers to the test split, by task.

    Args:
        tested: `task`, `prompt_id` and what is measured, in [0, 1]; answers to one prompt count as one.
        measured: Its column.
    """
    value = pl.col(measured).cast(pl.Float64).mean().alias("mean")
    by_prompt = tested.group_by("task", "prompt_id", maintain_order=True).agg(value, pl.len())
    found = {}
    for (task,), of_task in by_prompt.group_by("task", maintain_order=True):
        means = of_task["mean"].to_numpy()
        error = standard_error(np.array(len(means)), means.sum(), (means**2).sum())
        found[str(task)] = Baseline(
            task=str(task),
            mean=float(means.mean()),
            standard_error=float(error),
            prompts=len(means),
            answers=int(of_task["len"].sum()),
        )
    return found
