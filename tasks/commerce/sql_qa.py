"""SQL: a business question becomes one SELECT, which is run.

Components (each in [0, 1]; the stages of Reasoning-SQL, 2503.23157, with execution on two copies of the store):

- `form`: 1 for the query alone, up to 0.7 with anything around it, in proportion to the query's share of the text.
- `valid`: 1 where the query runs in the sandbox, 0.5 where it ran over its budget. Gamed by any valid query.
- `uses`: F1 of the tables and columns that the query reads against the reference's; 0.3 times the F1 of the names in
  its text where it cannot be prepared; 1 where the result is right, whatever way it took. Gamed by a query that reads
  the right columns and computes something else.
- `shape`: agreement of the result's columns and rows in number, half each. Gamed by any one-row query.
- `result`: 1 where the rows are the reference's on both copies (as multisets, numbers within half a cent, in order only
  if the reference orders: 0.8 for the wrong order); otherwise up to 0.7, by the rows and the cells that agree, on the
  worse copy. Gamed by constants, which the second copy exposes.

`form`, `valid` and `shape` count only as far as `uses` does, so that `SELECT` or `SELECT 1` earns nothing.
"""

import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.store import Store
from tasks.commerce.commerce_task import CommerceTask, Reference, Reward, Score, fill_unknown
from tasks.commerce.example import Example
from tasks.commerce.sandbox import MAX_SQL_CHARACTERS, Cell, Databases, Execution, Refusal, Row
from tasks.commerce.sql_questions import FAMILIES, Values
from tasks.commerce.wordings import read_wording

WORDING: Final = read_wording("sql_qa")
WEIGHTS: Final = {"form": 0.10, "valid": 0.15, "uses": 0.20, "shape": 0.10, "result": 0.45}
ATTEMPTS_PER_EXAMPLE: Final = 20
TOLERANCE: Final = 0.0051
"""Half a cent: a value that was not rounded is the rounded one."""
MAX_PAIRED: Final = 100
"""Rows that are compared one with another once the equal ones are gone."""

_START: Final = re.compile(r"\b(?:SELECT|WITH)\b", re.IGNORECASE)
_END: Final = re.compile(r";|```|\n\s*\n")
_ORDERED: Final = re.compile(r"\bORDER\s+BY\b(?![^()]*\))", re.IGNORECASE)
_NAME: Final = re.compile(r"[a-z_]+")


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield questions of every family in turn, each with an answer that tells the store's copies apart."""
    databases = Databases.from_store(store)
    values = Values.of(store)
    seen: set[str] = set()
    for attempt in range(count * ATTEMPTS_PER_EXAMPLE):
        if len(seen) == count:
            return
        question = FAMILIES[attempt % len(FAMILIES)](values, generator)
        prompt = generator.choice(WORDING.instructions).format(question=question.text)
        if prompt not in seen and proves_something(databases.run_reference(question.sql)):
            seen.add(prompt)
            yield Example("sql_qa", WORDING.system, prompt, {"sql": question.sql})


def proves_something(executions: Sequence[Execution]) -> bool:
    """Tell whether a right result proves a query right: none is only nulls and zeros, and no constant fits all."""
    told = all(any(cell for row in execution.rows for cell in row) for execution in executions)
    return told and len({execution.rows for execution in executions}) == len(executions)


def answer(reference: Reference) -> str:
    """Return the reference query."""
    return str(reference.get("sql") or "SELECT COUNT(*) FROM orders")


def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:  # noqa: ARG001 - every task's signature
    """Run the query on both copies and compare what comes of it with the reference.

    Raises:
        InputError: There are no databases, or the reference query does not run on them.
    """
    if databases is None:
        raise InputError("sql_qa answers are scored by running them, and no store was given; give the store's folder")
    sql, executions = _run_completion(completion, databases)
    wanted = _reference_executions(reference, databases)
    form = _form(sql, completion)
    valid = _valid(executions[0])
    if wanted is None:
        reads = float(bool(executions[0].reads))
        components = {"form": form * reads, "valid": valid * reads, "uses": None, "shape": None, "result": None}
        return Score(fill_unknown(components, WEIGHTS))
    pairs = list(zip(executions, wanted, strict=True))
    ordered = bool(_ORDERED.search((reference or {})["sql"]))
    result = min(_result(found, right, ordered=ordered) for found, right in pairs)
    uses = 1.0 if result == 1.0 else _uses(sql, executions[0], wanted[0], databases)
    return Score(
        {
            "form": form * uses,
            "valid": valid * uses,
            "uses": uses,
            "shape": uses * min(_shape(found, right) for found, right in pairs),
            "result": result,
        }
    )


def _run_completion(completion: str, databases: Databases) -> tuple[str, tuple[Execution, ...]]:
    """Find the query and run it; where its last lines are chatter, its first line is the query."""
    start = _START.search(completion)
    if start is None:
        return "", databases.run("")
    rest = completion[start.start() : start.start() + MAX_SQL_CHARACTERS + 1]
    end = _END.search(rest)
    sql = (rest[: end.start()] if end else rest).strip()
    executions = databases.run(sql)
    first_line = sql.partition("\n")[0]
    if executions[0].refusal is Refusal.INVALID and first_line != sql:
        shorter = databases.run(first_line)
        if shorter[0].refusal is None:
            return first_line, shorter
    return sql, executions


def _reference_executions(reference: Reference | None, databases: Databases) -> tuple[Execution, ...] | None:
    sql = (reference or {}).get("sql")
    if sql is None:
        return None
    executions = databases.run_reference(sql)
    for execution in executions:
        if execution.refusal is not None:
            raise InputError(f"the reference query {sql!r} does not run ({execution.refusal.value}); correct it")
    return executions


def _form(sql: str, completion: str) -> float:
    length = len(completion.strip().removesuffix(";").rstrip())
    if not sql or not length:
        return 0.0
    return 1.0 if len(sql) == length else 0.7 * len(sql) / length


def _valid(execution: Execution) -> float:
    if execution.refusal is None:
        return 1.0
    return 0.5 if execution.refusal is Refusal.TOO_MUCH else 0.0


def _uses(sql: str, found: Execution, wanted: Execution, databases: Databases) -> float:
    if found.refusal is not Refusal.INVALID:
        return _f1(found.reads, wanted.reads)
    names = databases.names.intersection(_NAME.findall(sql.lower()))
    wanted_names = {name.rpartition(".")[2] for name in wanted.reads}
    return 0.3 * _f1(names, wanted_names)


def _f1(found: frozenset[str], wanted: frozenset[str] | set[str]) -> float:
    return 2 * len(found & wanted) / (len(found) + len(wanted)) if found or wanted else 1.0


def _shape(found: Execution, wanted: Execution) -> float:
    if found.refusal is not None:
        return 0.0
    return (_ratio(found.columns, wanted.columns) + _ratio(len(found.rows), len(wanted.rows))) / 2


def _ratio(one: int, other: int) -> float:
    return min(one, other) / max(one, other, 1)


def _result(found: Execution, wanted: Execution, *, ordered: bool) -> float:
    if found.refusal is not None:
        return 0.0
    rows = _rows_f1(found.rows, wanted.rows)
    if rows < 1:
        return 0.5 * rows + 0.2 * _rows_f1(_cells(found.rows), _cells(wanted.rows))
    in_order = all(_same_row(one, other) for one, other in zip(found.rows, wanted.rows, strict=True))
    return 1.0 if in_order or not ordered else 0.8


def _cells(rows: Sequence[Row]) -> list[Row]:
    return [(cell,) for row in rows for cell in row]


def _rows_f1(found: Sequence[Row], wanted: Sequence[Row]) -> float:
    """Return the F1 of two multisets of rows, numbers within the tolerance."""
    if not found and not wanted:
        return 1.0
    found_left, wanted_left = Counter(found), Counter(wanted)
    equal = found_left & wanted_left
    pairs = equal.total()
    rest = list((wanted_left - equal).elements())[:MAX_PAIRED]
    for row in list((found_left - equal).elements())[:MAX_PAIRED]:
        match = next((index for index, other in enumerate(rest) if _same_row(row, other)), None)
        if match is not None:
            del rest[match]
            pairs += 1
    return 2 * pairs / (len(found) + len(wanted))


def _same_row(one: Row, other: Row) -> bool:
    return len(one) == len(other) and all(map(_same_cell, one, other))


def _same_cell(one: Cell, other: Cell) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=TOLERANCE)
    return one == other


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:
    """Return the execution accuracy: the share of queries whose result is the reference's on both copies."""
    known = [rollout for rollout in rollouts if rollout.reference and rollout.reference.get("sql")]
    if not known:
        return {}
    right = sum(
        score(rollout.completion, rollout.prompt, rollout.reference, databases).components["result"] == 1.0
        for rollout in known
    )
    return {"execution_accuracy": right / len(known)}


TASK: Final = CommerceTask("sql_qa", WORDING.system, examples, answer, {"grounded": Reward(WEIGHTS, score)}, metric)
