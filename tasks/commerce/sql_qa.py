"""SQL: a business question becomes one SELECT, which is run.

`grounded` (each component in [0, 1]; the stages of Reasoning-SQL, 2503.23157, with execution on three copies of
the store):

- `form`: 1 for the query alone, 0.9 for it alone in a code fence, up to 0.5 among other text, by its share of it.
- `valid`: 1 where the query runs in the sandbox, 0.5 where it ran over its budget. Gamed by any valid query.
- `uses`: the square of how far the query uses what the reference uses: the mean of two F1s, of the tables and columns
  that it reads, and of the tables, columns and values that it writes out; 0.3 times the latter's square where the
  query cannot be prepared; 1 where the result is right, whatever way it took. Gamed by a query that reads the right
  columns and computes something else.
- `shape`: agreement of the result's columns and rows in number, half each. Gamed by any one-row query.
- `result`: 1 where the rows are the reference's on every copy (as multisets, numbers within half a cent, in order only
  if the reference orders); 0.8 for the wrong order of rows, 0.9 for that of columns; otherwise up to 0.6, by the rows
  and the cells that agree; the worse copy counts. Gamed by constants, which the other copies expose.

`form`, `valid` and `shape` count only as far as `uses` does, so that `SELECT` or `SELECT 1` earns nothing; a query with
a wrong result earns 0.4 at most for everything but its result.

`v4.2` is the final report's reward, in four tiers; it runs nothing and knows no reference:

- `structure`: distinct SQL keywords, 1 from three on. Gamed by keywords without a query.
- `explanation`: a query (half for a SELECT without a FROM) as far as ten words of explanation stand beside it. Gamed by
  any query with any ten words.
- `numbers`: distinct numbers, 1 from three on. Gamed by any numbers.
- `domain`: distinct words of the shop's thirty (`data/lexicons/business_words.txt`), 1 from three on. Gamed by an echo
  of the question, as the report saw: its base model earned more than the tuned one without writing SQL.
"""

import random
import re
import time
from collections.abc import Iterator, Sequence
from typing import Final

from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.store import Store
from tasks.commerce.commerce_task import CommerceTask, Reference, Reward, Score, fill_unknown
from tasks.commerce.example import Example
from tasks.commerce.lexicons import read_lexicon
from tasks.commerce.sandbox import MAX_SECONDS, Databases, Execution, Refusal, Row
from tasks.commerce.sql_questions import Family, Values, read_families, shuffled, values_of
from tasks.commerce.sql_results import agreement, f1, shape
from tasks.commerce.sql_text import candidates, form, is_ordered, names, values
from tasks.commerce.store_copies import cut
from tasks.commerce.text_form import fold, ramp, words
from tasks.commerce.wordings import read_wording

WORDING: Final = read_wording("sql_qa")
WEIGHTS: Final = {"form": 0.10, "valid": 0.10, "uses": 0.15, "shape": 0.05, "result": 0.60}
V42_WEIGHTS: Final = {"structure": 0.30, "explanation": 0.25, "numbers": 0.25, "domain": 0.20}
ENOUGH: Final = 3
"""Keywords, numbers or business words with which a tier of `v4.2` is full."""
WORDS_EXPLAINING: Final = 10
COPIES_WITH_AN_ANSWER: Final = 2
"""Copies on which a question must have an answer, each another; the small one may have none."""
MAX_CHARACTERS: Final = 4_000
"""`v4.2` reads a completion this far."""

# A store may have no nulls, so that a condition against them changes nothing there.
_CONDITIONS: Final = (
    re.compile(r" WHERE (?!\w+ IS NOT NULL GROUP).*?(?= GROUP|$)"),
    re.compile(r" AND (?!.* AND ).*?(?= GROUP|$)"),
)
_KEYWORD: Final = re.compile(
    r"\b(?:SELECT|FROM|WHERE|JOIN|GROUP\s+BY|ORDER\s+BY|HAVING|LIMIT|DISTINCT|COUNT|SUM|AVG|MIN|MAX|WITH|UNION|CASE|OVER)\b"
)
_FROM: Final = re.compile(r"\bFROM\b", re.IGNORECASE)
_NUMBER: Final = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*")
_BUSINESS_WORD: Final = re.compile(rf"\b(?:{'|'.join(fold(word) for word in read_lexicon('business_words'))})")


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield questions of every family in turn, each with an answer that tells the store's copies apart.

    A round has each family as often as its level says, in a drawn order. A family whose questions are all asked in all
    wordings drops out.
    """
    part = cut(store)
    databases, known = Databases.from_store(part), values_of(part)
    left = {family.name: _of_family(family, known, databases, generator) for family in read_families()}
    turns = [family.name for family in read_families() for _ in range(family.turns)]
    made = 0
    while turns and made < count:
        generator.shuffle(turns)
        for name in turns[: count - made]:
            example = next(left[name], None)
            if example is None:
                turns = [other for other in turns if other != name]
                break
            made += 1
            yield example


def _of_family(family: Family, known: Values, databases: Databases, generator: random.Random) -> Iterator[Example]:
    """Yield a family's questions in a drawn order, each in each of its texts and wordings once."""
    combinations, texts = family.combinations(known), len(family.texts)
    proven: dict[int, bool] = {}
    for number in shuffled(combinations * texts * len(WORDING.instructions), generator):
        rest, combination = divmod(number, combinations)
        instruction, text = divmod(rest, texts)
        if not proven.get(combination, True):
            continue
        question = family.question(known, text, combination)
        if combination not in proven:
            proven[combination] = proves_something(question.sql, databases)
        if proven[combination]:
            prompt = WORDING.instructions[instruction].replace("{question}", question.text)
            yield Example("sql_qa", WORDING.system, prompt, {"sql": question.sql})


def proves_something(sql: str, databases: Databases) -> bool:
    """Tell whether the right result proves a query right.

    It does not where a copy has only nulls and zeros for a result, where one constant fits all copies, or where the
    query does as well without its conditions, or without the last of them.
    """
    results: list[tuple[Row, ...]] = []
    for number, database in enumerate(databases.copies):
        results.append(database.execute(sql).rows)
        if number < COPIES_WITH_AN_ANSWER and not _has_answer(results[-1]):
            return False
    if len(set(results[:COPIES_WITH_AN_ANSWER])) < COPIES_WITH_AN_ANSWER:
        return False
    weaker = {condition.sub("", sql, count=1) for condition in _CONDITIONS} - {sql}
    return all([execution.rows for execution in databases.run_reference(other)] != results for other in weaker)


def answer(reference: Reference) -> str:
    """Return the reference query."""
    return str(reference.get("sql") or "SELECT COUNT(*) FROM orders")


def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:  # noqa: ARG001 - every task's signature
    """Run the query on every copy and compare what comes of it with the reference.

    Raises:
        InputError: There are no databases, or the reference query does not run on them.
    """
    databases = _required(databases)
    # The reference first: what the functions of dates tell is remembered then, and costs the completion no time.
    wanted = _reference_executions(reference, databases)
    sql, executions = _run_completion(completion, databases)
    found_form, valid = form(sql, completion), _valid(executions[0])
    if wanted is None:
        reads = float(bool(executions[0].reads))
        components = {"form": found_form * reads, "valid": valid * reads, "uses": None, "shape": None, "result": None}
        return Score(fill_unknown(components, WEIGHTS))
    reference_sql = answer(reference or {})
    result = _result(executions, wanted, reference_sql)
    uses = 1.0 if result == 1.0 else _uses(sql, executions[0], reference_sql, wanted[0], databases)
    return Score(
        {
            "form": found_form * uses,
            "valid": valid * uses,
            "uses": uses,
            "shape": uses * min(shape(found, right) for found, right in _counted(executions, wanted)),
            "result": result,
        }
    )


def _required(databases: Databases | None) -> Databases:
    if databases is None:
        raise InputError("sql_qa answers are scored by running them, and no store was given; give the store's folder")
    return databases


def _run_completion(completion: str, databases: Databases) -> tuple[str, tuple[Execution, ...]]:
    """Return the first of the completion's candidates that is a query, or the likeliest if none is."""
    tried, deadline = [""], time.thread_time() + MAX_SECONDS
    for sql in candidates(completion):
        executions = databases.run(sql, deadline)
        if executions[0].refusal is not Refusal.INVALID:
            return sql, executions
        tried.append(sql)
    likeliest = tried[:2][-1]
    return likeliest, databases.run(likeliest, deadline)


def _reference_executions(reference: Reference | None, databases: Databases) -> tuple[Execution, ...] | None:
    sql = (reference or {}).get("sql")
    if sql is None:
        return None
    executions = databases.run_reference(sql)
    for execution in executions:
        if execution.refusal is not None:
            raise InputError(f"the reference query {sql!r} does not run ({execution.refusal.value}); correct it")
    return executions


def _valid(execution: Execution) -> float:
    if execution.refusal is None:
        return 1.0
    return 0.5 if execution.refusal is Refusal.TOO_MUCH else 0.0


def _uses(sql: str, found: Execution, reference_sql: str, wanted: Execution, databases: Databases) -> float:
    known = databases.names
    written = f1(names(sql, known) | values(sql), names(reference_sql, known) | values(reference_sql))
    if found.refusal is Refusal.INVALID:
        return 0.3 * written**2
    return ((f1(found.reads, wanted.reads) + written) / 2) ** 2


def _result(executions: Sequence[Execution], wanted: Sequence[Execution], reference_sql: str) -> float:
    ordered = is_ordered(reference_sql)
    return min(agreement(found, right, ordered=ordered) for found, right in _counted(executions, wanted))


def _counted(executions: Sequence[Execution], wanted: Sequence[Execution]) -> list[tuple[Execution, Execution]]:
    """Pair the executions of the copies that count: where nothing is found, a sum is null and a count is 0."""
    pairs = list(zip(executions, wanted, strict=True))
    return pairs[:COPIES_WITH_AN_ANSWER] + [pair for pair in pairs[COPIES_WITH_AN_ANSWER:] if _has_answer(pair[1].rows)]


def _has_answer(rows: Sequence[Row]) -> bool:
    return any(cell for row in rows for cell in row)


def v42_score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:  # noqa: ARG001 - every task's signature
    """Grade the four tiers of the final report."""
    text = completion[:MAX_CHARACTERS]
    keywords = {" ".join(keyword.split()) for keyword in _KEYWORD.findall(text.upper())}
    # The last candidate ends with the first line that is no part of a query.
    query = next(iter(candidates(text)[::-1]), "")
    written = (0.5 + 0.5 * bool(_FROM.search(query))) if query else 0.0
    explained = ramp(sum(word.isalpha() for word in words(text.replace(query, " "))), 0, WORDS_EXPLAINING)
    return Score(
        {
            "structure": min(len(keywords) / ENOUGH, 1.0),
            "explanation": written * explained,
            "numbers": min(len(set(_NUMBER.findall(text))) / ENOUGH, 1.0),
            "domain": min(len(set(_BUSINESS_WORD.findall(fold(text)))) / ENOUGH, 1.0),
        }
    )


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:
    """Return the execution accuracy: the share of queries whose result is the reference's on every copy."""
    right: list[bool] = []
    for rollout in rollouts:
        wanted = _reference_executions(rollout.reference, _required(databases)) if rollout.reference else None
        if wanted is not None:
            _, executions = _run_completion(rollout.completion, _required(databases))
            right.append(_result(executions, wanted, answer(rollout.reference or {})) == 1.0)
    return {"execution_accuracy": sum(right) / len(right)} if right else {}


TASK: Final = CommerceTask(
    "sql_qa",
    WORDING.system,
    examples,
    answer,
    {"grounded": Reward(WEIGHTS, score), "v4.2": Reward(V42_WEIGHTS, v42_score)},
    metric,
)
