"""Rewards of logged answers, each distinct one scored once in parallel, and baselines by the same rule.

A reward redistributes the weight of what a reference does not know. So a task's answers are scored by the parts that
all of their references know, and all of the test split's, and the champion's test answers in the same way. That makes a
change of the rewards harmless, too.

Answers that are none are found too: nothing, a refusal, an echo, or one of these in the task's form. The rewards ask
less (`tasks.commerce.text.text_form.refuses`), since a word more there changes what a model learns.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import polars as pl

from schemas.documents import Rollout
from schemas.progress import Progress, silent
from schemas.references import REFERENCES
from schemas.tasks import SpecName, TaskName
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.parser import parse_object
from tasks.commerce.text.text_form import MAX_CHARACTERS, REFUSAL_REACH, Phrases, fold, folded_words, refuses
from tasks.monitor.series import Baseline, standard_error

KEY: Final = ("task", "prompt", "completion", "reference")
"""Columns that decide a reward."""
SQL_TASK: Final = "sql_qa"
STORE_IS_GONE: Final = "sql_qa, whose queries need the store of the champion's prompts, which is gone"
PROMPT_IS_UNREAD: Final[Mapping[SpecName, frozenset[str]]] = {
    "grounded": frozenset(task.name for task in TASKS.values() if task.prompt_is_unread),
    "v4.2": frozenset(),
}
"""Tasks whose answers, which recur often, need no scoring for each prompt."""
REFERENCE_IS_UNREAD: Final[Mapping[SpecName, frozenset[str]]] = {
    "grounded": frozenset({"push", "insights"}),
    "v4.2": frozenset(),
}
"""Tasks whose prompt holds all that the reward asks for, so that without a reference more than the form is known."""
ANSWERS_AT_ONCE: Final = 4_000
"""Answers per chunk of a process: a second's work."""


MapChunks = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]
"""Map of a function over inputs, whose results come in their order."""


@dataclass(frozen=True)
class Rewards:
    """Settings of the scoring."""

    spec: SpecName
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


def scored(answers: pl.DataFrame, rewards: Rewards, map_chunks: MapChunks, progress: Progress = silent) -> pl.DataFrame:
    """Return answers with their `reward`, `valid`, `answered` and `characters`, in order.

    They have the columns of `KEY`; without a store none is of `sql_qa`.
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
    schema = {"reward": pl.Float64, "valid": pl.Boolean, "answered": pl.Boolean}
    known = different.hstack(pl.DataFrame(verdicts, schema=schema, orient="row"))
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


_databases = cache(Databases.open)


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
    run = [runs for found in map_chunks(partial(_queries_run, store), pieces) for runs in found]
    broken = pl.Series([text for text, runs in zip(of_sql, run, strict=True) if not runs], dtype=pl.String)
    is_broken = (pl.col("task") == SQL_TASK) & pl.col("reference").is_in(broken.implode())
    counted = pl.when(is_broken.fill_null(value=False)).then(None).otherwise(pl.col("reference")).alias("reference")
    return answers.with_columns(counted), answers.filter(is_broken).height


def _queries_run(store: Path, references: Sequence[str]) -> list[bool]:
    """Return for each `sql_qa` reference, as JSON, whether its query runs on every copy of the store, or is unknown."""
    run = _databases(store).run_reference
    queries = (orjson.loads(reference)["sql"] for reference in references)
    return [query is None or all(execution.refusal is None for execution in run(query)) for query in queries]


def kept_where(answers: pl.DataFrame, spec: SpecName, store: Path | None) -> tuple[pl.DataFrame, Mapping[str, int]]:
    """Return the answers that can be scored, and the number of others by reason."""
    if store is not None or spec == "v4.2":
        return answers, {}
    kept = answers.filter(pl.col("task") != SQL_TASK)
    lost = answers.height - kept.height
    return kept, {STORE_IS_GONE: lost} if lost else {}


def baselines_of(tested: pl.DataFrame, measured: str = "reward") -> dict[str, Baseline]:
    """Return the baselines by task from scored answers to the test split; answers to one prompt count as one."""
    value = pl.col(measured).cast(pl.Float64).mean().alias("mean")
    by_prompt = tested.group_by("task", "prompt_id", maintain_order=True).agg(value, pl.len())
    found = {}
    for (task,), of_task in by_prompt.group_by("task", maintain_order=True):
        means = of_task["mean"].to_numpy()
        error = standard_error(np.array(len(means)), means.sum(), (means**2).sum())
        answers = int(of_task["len"].sum())
        found[str(task)] = Baseline(str(task), float(means.mean()), float(error), len(means), answers)
    return found


DATA_FILES: Final = ("data/lexicons/declining.txt", "data/lexicons/non_answers.txt")
DECLINING: Final = Phrases("declining")
NON_ANSWERS: Final = frozenset(" ".join(folded_words(fold(text))) for text in read_lexicon("non_answers"))
MIN_ECHOED_WORDS: Final = 6
"""Words of a prompt from which on their repetition is an echo, and no name of a product."""
_VALUE: Final = "none"
"""A value that fields have too: that of no complaint."""
_READS_A_TABLE: Final = re.compile(r"\bfrom\b")


def is_answer(task: TaskName, prompt: str, completion: str) -> bool:
    """Return whether a completion, however long and hostile, is an answer of any kind, right or wrong."""
    text = _visible(completion)
    if _says_nothing(text) or refuses(text):
        return False
    if TASKS[task].answers_in_json and (value := parse_object(completion).value) is not None:
        return _holds_a_value(value)
    folded = fold(text)
    if task == "sql_qa" and folded.lstrip().startswith("select"):
        return bool(_READS_A_TABLE.search(folded))
    if _declines(folded):
        return False
    # Where no score depends on the prompt, equal answers are scored once, whatever was asked.
    if TASKS[task].prompt_is_unread:
        return True
    said, asked = (" ".join(folded_words(each)) for each in (folded, fold(_visible(prompt))))
    return said.count(" ") + 1 < MIN_ECHOED_WORDS or said not in asked


def _visible(text: str) -> str:
    """Return a text's beginning without characters that nobody sees, such as a space of no width."""
    normal = unicodedata.normalize("NFKC", text.strip()[:MAX_CHARACTERS])
    if normal.isascii():
        return normal
    return "".join(character for character in normal if unicodedata.category(character) != "Cf")


def _says_nothing(text: str) -> bool:
    words_there = folded_words(fold(text[:REFUSAL_REACH]))
    return not any(map(str.isalnum, text)) or (len(text) < REFUSAL_REACH and " ".join(words_there) in NON_ANSWERS)


def _declines(folded: str) -> bool:
    beginning = folded[:REFUSAL_REACH]
    return DECLINING.are_in(beginning, set(folded_words(beginning)))


def _holds_a_value(value: dict[str, Any]) -> bool:
    """Return whether any text of an object says something; where it has no text, whether any value is known."""
    texts = [each for each in value.values() if isinstance(each, str) and each and each != _VALUE]
    if not texts:
        return any(each is not None and each != "" for each in value.values())
    return not all(_says_nothing(text) or _declines(fold(text)) for text in map(_visible, texts))


class KnownParts(NamedTuple):
    """Parts, such as `polarity` or `fields.sentiment`, that each or some of a task's references know."""

    by_each: frozenset[str]
    by_some: frozenset[str]


def known_parts(answers: pl.DataFrame) -> dict[TaskName, KnownParts]:
    """Return the known parts of answers' references, JSON or null, by task."""
    found: dict[TaskName, KnownParts] = {}
    for task, reference in answers.select("task", "reference").unique(maintain_order=True).iter_rows():
        parts = frozenset(_parts(task, orjson.loads(reference))) if reference else frozenset()
        before = found.get(task, KnownParts(parts, parts))
        found[task] = KnownParts(before.by_each & parts, before.by_some | parts)
    return found


def without_untold(tested: pl.DataFrame, logged: pl.DataFrame) -> pl.DataFrame:
    """Return the test answers without those that have no reference, in tasks of which every logged answer has one.

    A single one would leave nothing that all references know. A task of which no test answer has one keeps them all.
    """
    is_known = pl.col("reference").is_not_null()
    told = set(tested.filter(is_known)["task"]) - set(logged.filter(~is_known)["task"])
    return tested.filter(is_known | ~pl.col("task").is_in(sorted(told)))


def with_parts(answers: pl.DataFrame, parts: Mapping[TaskName, Collection[str]]) -> pl.DataFrame:
    """Return answers with references reduced to parts that each reference of the task knows; null without any."""
    on = ["task", "reference"]
    different = answers.select(on).drop_nulls().unique(maintain_order=True)
    cut: list[str | None] = []
    for task, reference in different.iter_rows():
        document, known = orjson.loads(reference), parts.get(task, ())
        beside = set(_parts(task, document)).difference(known)
        reduced = orjson.dumps(_without(document, beside)).decode() if beside else reference
        cut.append(reduced if known else None)
    reductions = different.with_columns(pl.Series("cut", cut, pl.String))
    found = answers.select(on).join(reductions, on, how="left", maintain_order="left")
    return answers.with_columns(found["cut"].alias("reference"))


def _parts(task: TaskName, document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the known parts that the task's rewards read."""
    for name in REFERENCES[task].model_fields:
        value = document[name]
        if isinstance(value, Mapping):
            yield from (f"{name}.{inner}" for inner, part in value.items() if part is not None)
        elif value is not None and value != []:
            yield name


def _without(document: Mapping[str, Any], beside: Collection[str], above: str = "") -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in document.items():
        if f"{above}{name}" in beside:
            kept[name] = None
        else:
            kept[name] = _without(value, beside, f"{name}.") if isinstance(value, Mapping) else value
    return kept
