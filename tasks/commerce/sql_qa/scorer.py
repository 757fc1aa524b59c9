"""SQL: a business question becomes one SELECT, which is run.

`grounded` (each component in [0, 1]; the stages of Reasoning-SQL, 2503.23157, with execution on three copies of the
store):

- `form`: 1 for the query alone, 0.9 for it alone in a code fence, up to 0.5 among other text, by its share of it.
- `valid`: 1 if the query runs in the sandbox, 0.5 if it exceeded its budget. Gamed by any valid query.
- `uses`: the square of how far the query uses what the reference uses: the mean of two F1s, of the tables and columns
  that it reads, and of the tables, columns and values that it writes out; 0.3 times the latter's square if the query
  cannot be prepared; 1 if the result is right, by any method. Gamed by a query that reads the right columns and
  computes something else.
- `shape`: agreement of the result's columns and rows in number, half each. Gamed by any one-row query.
- `result`: 1 if the rows are the reference's on every copy (as multisets, numbers within half a cent, in order only if
  the reference orders); 0.8 for the wrong order of rows, or for one that no ORDER BY asks for; 0.4 for that of columns;
  otherwise up to 0.6, by the rows and the cells that agree; the worse copy counts. Gamed by constants, which the other
  copies expose: the first two have as many rows in each table, so that no count tells which constant is due.

`form`, `valid` and `shape` count only as far as `uses` does, so that `SELECT` or `SELECT 1` earns nothing; a query with
a wrong result earns 0.4 at most for everything but its result. All components keep 0.48 if text stands beside the
query, or if a comment or a name that it gives has other words than the question, the tables and queries have
(`query_text.NOT_ALONE`), and 0.4 if the query or an inner one is a UNION and the reference has none.

`v4.2` is the V4.2 report's reward, in four tiers; it runs nothing and knows no reference:

- `structure`: distinct SQL keywords, 1 from three on. Gamed by keywords without a query.
- `explanation`: a query (half for a SELECT without a FROM) in proportion to an explanation of ten words beside it.
  Gamed by any query with any ten words.
- `numbers`: distinct numbers, 1 from three on. Gamed by any numbers.
- `domain`: distinct words of the shop's thirty (`data/lexicons/business_words.txt`), 1 from three on. Gamed by an echo
  of the question, as the report observed: its base model earned more than the tuned one without writing SQL.
"""

import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from schemas.errors import InputError
from tasks.commerce.reward import Reference, Reward, Score, fill_unknown
from tasks.commerce.sql_qa.query_text import (
    NOT_ALONE,
    UNION,
    UNITED,
    candidates,
    comments_explain,
    form,
    is_alone,
    is_ordered,
    names_explain,
    orders_rows,
    parts,
)
from tasks.commerce.sql_qa.results import COPIES_WITH_AN_ANSWER, WRONG_ORDER, agreement, f1, has_answer, shape
from tasks.commerce.sql_qa.sandbox import MAX_SECONDS, Databases, Execution, Refusal
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import fold, ramp, words

if TYPE_CHECKING:
    from schemas.tasks import SpecName

DATA_FILES: Final = ("data/lexicons/business_words.txt",)
WEIGHTS: Final = {"form": 0.10, "valid": 0.10, "uses": 0.15, "shape": 0.05, "result": 0.60}
V42_WEIGHTS: Final = {"structure": 0.30, "explanation": 0.25, "numbers": 0.25, "domain": 0.20}
ENOUGH: Final = 3
WORDS_EXPLAINING: Final = 10
MAX_CHARACTERS: Final = 4_000

_KEYWORD: Final = re.compile(
    r"\b(?:SELECT|FROM|WHERE|JOIN|GROUP\s+BY|ORDER\s+BY|HAVING|LIMIT|DISTINCT|COUNT|SUM|AVG|MIN|MAX|WITH|UNION|CASE|OVER)\b"
)
_FROM: Final = re.compile(r"\bFROM\b", re.IGNORECASE)
_NUMBER: Final = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*")
_BUSINESS_WORD: Final = re.compile(rf"\b(?:{'|'.join(fold(word) for word in read_lexicon('business_words'))})")


def answer(reference: Reference) -> str:
    """Return the reference query."""
    return str(reference.get("sql") or "SELECT COUNT(*) FROM orders")


def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
    """Run the query on every copy and compare the results with the reference's.

    InputError where there are no databases, or the reference query does not run on them.
    """
    if databases is None:
        raise InputError("sql_qa answers are scored by running them, and no store was given; give the store's folder")
    # The reference first: the date functions' results are cached then, and cost the completion no time.
    reference_sql = (reference or {}).get("sql")
    wanted = None if reference_sql is None else _reference_executions(reference_sql, databases)
    sql, executions = run_completion(completion, databases)
    worth = {None: 1.0, Refusal.TOO_MUCH: 0.5}
    found_form, valid = form(sql, completion), worth.get(executions[0].refusal, 0.0)
    if wanted is None or reference_sql is None:
        reads = float(bool(executions[0].reads))
        components = {"form": found_form * reads, "valid": valid * reads, "uses": None, "shape": None, "result": None}
        return Score(fill_unknown(components, WEIGHTS))
    checked = comments_explain(completion, prompt) and names_explain(sql, prompt, databases.names)
    kept = 1.0 if checked and is_alone(sql, completion) else NOT_ALONE
    if UNION.search(sql) and not UNION.search(reference_sql):
        kept = UNITED
    result = result_agreement(executions, wanted, reference_sql)
    if result > WRONG_ORDER and is_ordered(reference_sql) and not orders_rows(sql) and len(wanted[0].rows) > 1:
        result = WRONG_ORDER
    uses = 1.0 if result == 1.0 else _uses(sql, executions[0], reference_sql, wanted[0], databases)
    return Score(
        {
            "form": kept * found_form * uses,
            "valid": kept * valid * uses,
            "uses": kept * uses,
            "shape": kept * uses * min(shape(found, right) for found, right in _counted(executions, wanted)),
            "result": kept * result,
        }
    )


def run_completion(completion: str, databases: Databases) -> tuple[str, tuple[Execution, ...]]:
    """Return the first of the completion's candidates that is a query, or the likeliest if none is."""
    tried, deadline = [""], time.thread_time() + MAX_SECONDS
    for sql in candidates(completion):
        executions = databases.run(sql, deadline)
        if executions[0].refusal is not Refusal.INVALID:
            return sql, executions
        tried.append(sql)
    likeliest = tried[:2][-1]
    return likeliest, databases.run(likeliest, deadline)


def _reference_executions(sql: str, databases: Databases) -> tuple[Execution, ...]:
    executions = databases.run_reference(sql)
    for execution in executions:
        if execution.refusal is not None:
            raise InputError(f"the reference query {sql!r} does not run ({execution.refusal.value}); correct it")
    return executions


def _uses(sql: str, found: Execution, reference_sql: str, wanted: Execution, databases: Databases) -> float:
    known = databases.names
    written = f1(parts(sql, known), parts(reference_sql, known))
    if found.refusal is Refusal.INVALID:
        return 0.3 * written**2
    return ((f1(found.reads, wanted.reads) + written) / 2) ** 2


def result_agreement(executions: Sequence[Execution], wanted: Sequence[Execution], reference_sql: str) -> float:
    """Return the worst agreement of the results of all copies that count."""
    ordered = is_ordered(reference_sql)
    return min(agreement(found, right, ordered=ordered) for found, right in _counted(executions, wanted))


def _counted(executions: Sequence[Execution], wanted: Sequence[Execution]) -> list[tuple[Execution, Execution]]:
    """Pair the executions of the copies that count: on an empty selection, a sum is null and a count is 0."""
    pairs = list(zip(executions, wanted, strict=True))
    return pairs[:COPIES_WITH_AN_ANSWER] + [pair for pair in pairs[COPIES_WITH_AN_ANSWER:] if has_answer(pair[1].rows)]


def v42_score(completion: str, _prompt: str, _reference: Reference | None, _: object) -> Score:
    """Grade the four tiers of the V4.2 report."""
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


REWARDS: Final[Mapping["SpecName", Reward]] = {
    "grounded": Reward(WEIGHTS, score),
    "v4.2": Reward(V42_WEIGHTS, v42_score),
}
