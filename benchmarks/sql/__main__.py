"""Speed of making SQL questions and of scoring their answers, on one core: `python -m benchmarks.sql [ORDERS ...]`.

For stores of each size: the seconds that 2,000 questions take to make, how many different prompts there are, and how
many rollouts a second are scored with their queries run, by kind of completion and for the mix of all, and the ratio of
each to the mix (median of five, in processor seconds of this process). Limit, for each size: 300 a second for the mix.
"""

import random
import re
import statistics
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from benchmarks.harness import Report, run_benchmark
from schemas.documents import Rollout
from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.registry import score_rollout
from tasks.commerce.sql_qa import prompts as sql_qa_prompts
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.synthesize.simulated import simulate_store

ORDERS: Final = (1_500, 20_000)
QUESTIONS: Final = 2_000
REPEATS: Final = 5
MIN_PER_SECOND: Final = 300


def _unrounded(sql: str) -> str:
    return re.sub(r"ROUND\(([^,]*), 2\)", r"\1", sql)


def _unfiltered(sql: str) -> str:
    return re.sub(r" WHERE .*?(?= GROUP|$)", "", sql)


KINDS: Final[Mapping[str, Callable[[str], str]]] = {
    "right": lambda sql: sql,
    "right, not rounded": _unrounded,
    "right, explained": lambda sql: (
        f"Segue a consulta:\n\n```sql\n{sql};\n```\n\nEla filtra os dados e soma os valores."
    ),
    "without the filter": _unfiltered,
    "a column too many": lambda sql: sql.replace(" FROM", ", 1 FROM", 1),
    "cut off": lambda sql: sql[: len(sql) // 2],
    "misspelt": lambda sql: sql.replace("order", "pedido").replace("SELECT", "SELECT SELECT"),
    "cross join": lambda sql: _unfiltered(re.sub(r" JOIN (\w+) USING \(\w+\)", r", \1", sql)),
    "all rows": lambda _: "SELECT * FROM orders, items",
    "prose": lambda sql: f"A resposta é {len(sql)} pedidos, com ticket médio de R$ 120,50.",
}


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("orders", type=int, nargs="*", default=ORDERS, help="of each store")


def measure(report: Report, options: Namespace) -> None:
    """Make and score questions on a store of each size."""
    for orders in options.orders:
        store = simulate_store(orders, random.Random("42:store"))
        make = partial(_examples, store)
        seconds = statistics.median(_seconds(partial(make, QUESTIONS)) for _ in range(REPEATS))
        examples = make(QUESTIONS)
        prompts = sum(1 for _ in sql_qa_prompts.examples(store, random.Random(3), sys.maxsize))
        databases = Databases.from_store(store)
        mix = [_rollout(example, change) for example in examples[:60] for change in KINDS.values()]
        mixed = _rate(mix, databases)
        rates = {
            kind: _rate([_rollout(example, change) for example in examples[:200]], databases)
            for kind, change in KINDS.items()
        }
        report.table(
            f"{orders:,} orders: {len(examples):,} questions in {seconds:.2f} s; {prompts:,} different prompts",
            ("completions", "rollouts/s", "of the mix", "at least"),
            [
                *((kind, f"{rate:,.0f}", f"{rate / mixed:.2f}", "") for kind, rate in rates.items()),
                ("mix", f"{mixed:,.0f}", "1.00", str(MIN_PER_SECOND)),
            ],
        )
        report.limit(mixed >= MIN_PER_SECOND, f"{orders:,} orders: {mixed:.0f} rollouts/s, limit {MIN_PER_SECOND}")


def _examples(store: Store, count: int) -> list[Example]:
    return list(sql_qa_prompts.examples(store, random.Random(3), count))


def _rollout(example: Example, change: Callable[[str], str]) -> Rollout:
    completion = change(str(example.reference["sql"]))
    return Rollout(
        prompt_id="p", task="sql_qa", prompt=example.prompt, completion=completion, reference=dict(example.reference)
    )


def _rate(rollouts: Sequence[Rollout], databases: Databases) -> float:
    def score() -> None:
        for rollout in rollouts:
            score_rollout(rollout, databases)

    score()
    return len(rollouts) / statistics.median(_seconds(score) for _ in range(REPEATS))


def _seconds(work: Callable[[], object]) -> float:
    # Of this process alone: the work has one thread, and other processes may compete with it.
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
