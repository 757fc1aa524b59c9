"""Scoring speed of the rewards, on one core, and fuzzing with completions that must not stop them.

Limits, in rollouts a second by the median of repeated runs of `score_rollout`: well-formed extraction 20,000 and within
20 times of parsing the same texts with orjson alone; malformed extraction (a quarter each truncated, chatty, in single
quotes, with decimal commas) 3,000; sentiment, churn, push and insights 20,000 each; sql_qa with
execution on three copies 300. Fuzzing: no mutated completion raises under any specification, and none takes more than
50 ms, except a query that runs up to its own limit of half a second.

No completion is scored twice: each run has prompts of its own, eight answers to each that differ in words, as a group
of rollouts does. Of the queries half are the reference's but for a comment, which the scorer does not run again. The
machine's noise is reduced as far as possible: every figure is processor time of this process, the garbage collector is
off meanwhile, and slow completions in fuzzing are timed again, the fastest of five counting.
"""

import gc
import json
import math
import random
import statistics
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar, get_args

import orjson

from benchmarks.harness import Report, progress, run_benchmark
from schemas.documents import Rollout
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.synthesize.simulated import simulate_store

Item = TypeVar("Item")
SEED: Final = 7
ORDERS: Final = 20_000
RUNS: Final = 7
ANSWERS: Final = 8
"""Answers per prompt."""
PROMPTS_A_RUN: Final = 300
SQL_PROMPTS_A_RUN: Final = 75
MIN_PER_SECOND: Final[Mapping[str, float]] = {
    "extraction": 20_000,
    "extraction, malformed": 3_000,
    "sentiment": 20_000,
    "churn": 20_000,
    "push": 20_000,
    "insights": 20_000,
    "sql_qa": 300,
}
MAX_TIMES_ORJSON: Final = 20
MAX_SECONDS: Final = 0.05
MAX_SQL_SECONDS: Final = 0.6
SLOW: Final = 0.02
"""Seconds above which a completion is timed again in fuzzing."""

# fmt: off
HOSTILE: Final = (
    '{"a":' * 40, "{" * 300, "[" * 300, '"' * 50, "\\" * 99, "}" * 20, '{"x":[{', "\x00", "\ud800", "\u202e",
    "\n" * 200, "a\u0301" * 40, "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 9, "1" * 400, "-1e999", "NaN", "4,5",
    "R$ 1.234,56", "80%", "```json\n", "```", "<think>", "</think>", "/*", "--", ";", "null", "true", "'", "SELECT ",
    "WITH RECURSIVE ", "( " * 60, "- " * 60, "## ", "**" * 40, "prezado cliente ", "recomendo ", " não ", "é" * 90,
    "1.234.567,89 " * 30, ", " * 80,
)
# fmt: on


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--fuzz", type=int, default=200_000, help="mutated completions")


def measure(report: Report, options: Namespace) -> None:
    """Time each kind of rollouts, then score mutated completions."""
    databases, rollouts = _prepare()
    rows = []
    for name, runs in _workloads(rollouts).items():
        found, times = _speed(runs, databases)
        least = MIN_PER_SECOND[name]
        rows.append((name, found, least, found / least, "" if times is None else f"{times:.1f}"))
        report.limit(found >= least, f"{name}: {found:,.0f} rollouts a second, at least {least:,.0f} asked for")
        if name == "extraction":
            alone = times or math.inf
            miss = (
                f"extraction takes {alone:.1f} times as long as orjson alone, at most {MAX_TIMES_ORJSON} are asked for"
            )
            report.limit(alone <= MAX_TIMES_ORJSON, miss)
    columns = {"rollouts": "", "a second": ",.0f", "at least": ",.0f", "of it": ".2f", "times orjson": ""}
    report.table(f"score_rollout, median of {RUNS} runs", columns, rows)
    slowest = _fuzz(rollouts, databases, options.fuzz)
    for kind, most in (("text", MAX_SECONDS), ("sql", MAX_SQL_SECONDS)):
        seconds, completion = slowest[kind]
        taken = f"{1000 * seconds:.1f} ms, limit {1000 * most:.0f} ms: {completion}"
        report.line(f"Of {options.fuzz:,} mutated completions the slowest of {kind} takes {taken}.")
        report.limit(seconds <= most, f"scoring a completion took {taken}")


def _prepare() -> tuple[Databases, dict[TaskName, list[Rollout]]]:
    """Return the copies of a simulated store, and answers to prompts of every task, grouped by prompt."""
    store = simulate_store(ORDERS, random.Random(SEED))
    generator = random.Random(SEED)
    rollouts = {
        task: [
            Rollout(
                prompt_id=str(number),
                task=task,
                prompt=example.prompt,
                completion=_reword(task, TASKS[task].answer(example.reference), number * ANSWERS + answer, generator),
                reference=example.reference,
            )
            for number, example in enumerate(
                EXAMPLE_MAKERS[task](store, random.Random(SEED), (RUNS + 1) * PROMPTS_A_RUN)
            )
            for answer in range(ANSWERS)
        ]
        for task in TASK_NAMES
    }
    return Databases.from_store(store), rollouts


def _reword(task: TaskName, answer: str, number: int, generator: random.Random) -> str:
    """Return another answer: of each eight to one prompt the first is right and the others have a fault."""
    if task == "sql_qa":
        # In letters, because a number in a comment would be taken for one of the query.
        word = "".join(chr(ord("a") + int(digit)) for digit in str(number))
        return answer.replace("SELECT ", f"SELECT /* {word} */ ", 1)
    if number % ANSWERS == 0:
        return answer
    if task not in ("extraction", "sentiment"):
        return TASKS[task].faults(answer, generator)
    fields = json.loads(answer)
    wrong = sorted(fields)[number % ANSWERS % len(fields)]
    changed = {name: _other(value) if name == wrong else value for name, value in fields.items()}
    return json.dumps(changed, ensure_ascii=False, separators=(",", ":"))


def _other(value: object) -> object:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return 6 - value if value != 3 else 4
    if isinstance(value, float):
        return round(1 - value, 1)
    return {"positive": "neutral", "neutral": "negative", "negative": "positive"}.get(str(value), "outra coisa")


def _workloads(rollouts: Mapping[TaskName, Sequence[Rollout]]) -> dict[str, list[list[Rollout]]]:
    """Return the rollouts of the warm-up and of each run, by kind."""
    queries = [
        rollout.model_copy(update={"completion": _query(number, rollout.completion)})
        for number, rollout in enumerate(rollouts["sql_qa"])
    ]
    malformed = [
        rollout.model_copy(update={"completion": _malform(number, rollout.completion)})
        for number, rollout in enumerate(rollouts["extraction"])
    ]
    kinds: dict[str, Sequence[Rollout]] = {str(task): each for task, each in rollouts.items()}
    kinds |= {"extraction, malformed": malformed, "sql_qa": queries}
    workloads = {}
    for name in MIN_PER_SECOND:
        size = ANSWERS * (SQL_PROMPTS_A_RUN if name == "sql_qa" else PROMPTS_A_RUN)
        workloads[name] = [list(kinds[name][run * size : (run + 1) * size]) for run in range(RUNS + 1)]
    return workloads


def _malform(number: int, completion: str) -> str:
    kinds: tuple[Callable[[str], str], ...] = (
        lambda text: text[: len(text) * 2 // 3],
        lambda text: f"Claro! Segue o JSON solicitado:\n```json\n{text}\n```\nEspero ter ajudado!",
        lambda text: str(json.loads(text)),
        lambda text: text.replace("0.", "0,"),
    )
    return kinds[number % len(kinds)](completion)


def _query(number: int, sql: str) -> str:
    """Return the right query, the right one with an explanation, one without its filter, or a broken one."""
    kinds = (
        sql,
        f"A consulta é:\n```sql\n{sql}\n```",
        sql.partition(" WHERE ")[0],
        sql.replace("SELECT", "SELECT FROM", 1),
    )
    return kinds[number % len(kinds)]


def _speed(runs: Sequence[Sequence[Rollout]], databases: Databases) -> tuple[float, float | None]:
    """Return the rollouts a second of the median run, and its time as a multiple of parsing the same texts as JSON."""
    rates, times = [], []
    score = partial(score_rollout, databases=databases)
    _seconds_of(score, runs[0])
    for rollouts in runs[1:]:
        texts = [rollout.completion for rollout in rollouts]
        scoring = _seconds_of(score, rollouts)
        rates.append(len(rollouts) / scoring)
        with suppress(orjson.JSONDecodeError):
            times.append(scoring / min(_seconds_of(orjson.loads, texts) for _ in range(5)))
    return statistics.median(rates), statistics.median(times) if times else None


def _seconds_of(work: Callable[[Item], object], items: Sequence[Item]) -> float:
    gc.collect()
    gc.disable()
    started = time.process_time()
    for item in items:
        work(item)
    seconds = time.process_time() - started
    gc.enable()
    return seconds


def _fuzz(
    rollouts: Mapping[TaskName, Sequence[Rollout]], databases: Databases, count: int
) -> dict[str, tuple[float, str]]:
    """Score mutated completions; return the slowest of text tasks and of sql_qa. An exception ends the benchmark."""
    generator = random.Random(SEED)
    slowest = {"text": (0.0, ""), "sql": (0.0, "")}
    for _ in progress(range(count), "fuzzing"):
        rollout = generator.choice(rollouts[generator.choice(TASK_NAMES)])
        spec = generator.choice(get_args(SpecName))
        mutant = rollout.model_copy(update={"completion": _mutate(rollout.completion, generator)})
        seconds = _seconds(mutant, databases, spec)
        if seconds > SLOW:
            seconds = min(_seconds(mutant, databases, spec) for _ in range(5))
        kind = "sql" if mutant.task == "sql_qa" else "text"
        if seconds > slowest[kind][0]:
            text = mutant.completion
            slowest[kind] = seconds, f"{mutant.task} {spec}, {len(text):,} characters, {text[:40]!a}"
    return slowest


def _seconds(rollout: Rollout, databases: Databases, spec: SpecName) -> float:
    started = time.process_time()
    score_rollout(rollout, databases, spec)
    return time.process_time() - started


def _mutate(text: str, generator: random.Random) -> str:
    for _ in range(generator.randint(1, 6)):
        place = generator.randint(0, len(text))
        other = generator.randint(0, len(text))
        chunk = generator.choice(HOSTILE)
        text = generator.choice(
            (
                text[:place] + chunk + text[place:],
                text[:place],
                text[:place] + text[place + 1 :],
                text[:place] + chr(generator.randrange(0x300)) + text[place:],
                text[min(place, other) : max(place, other)] + text,
                text.swapcase(),
                text[::-1],
                text + chunk * generator.randint(1, 50),
            )
        )
    return text * generator.choice((1, 1, 1, 1, 1, 1, 1, 1, 2, 30))


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
