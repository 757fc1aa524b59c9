"""Form and time of guided decoding: `python -m benchmarks.guided [--model FOLDER]`.

A model answers prompts of a simulated store, each task's with and without its grammar. Malformed is an answer that the
token limit cut off, or that has not its task's form: for extraction, sentiment and churn one clean object of just the
asked fields; for SQL one query with nothing beside it that SQLite prepares in the sandbox; for push 25 to 120
characters on one line or two. Time is the processor's from the prompt to the last answer's end, with and without a
grammar for as many steps, in which every answer of the batch gets a token (the least of repetitions, in turn). How much
a query asks for is no form: the share that is refused for it (rows, operations, time) is printed beside.

Then the SQL grammar is walked through at random, where each allowed token is as likely as any other.

Limits: no guided answer and no walk is malformed, and guided answers take at most 1.15 times as long. Without a folder
the model is a stand-in of the local profile's size with random weights, which writes anything, so that nothing but the
grammar can make a form right, and whose steps cost the least that a grammar is added to.
"""

import random
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.guided.walks import walks
from benchmarks.harness import Report, run_benchmark
from schemas.tasks import TaskName
from tasks.commerce.example import Example
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.push.scorer import ENOUGH_GRAPHEMES, MAX_GRAPHEMES, TITLE_AND_BODY
from tasks.commerce.registry import TASKS
from tasks.commerce.sql_qa.query_text import candidates, form
from tasks.commerce.sql_qa.sandbox import Databases, Refusal
from tasks.commerce.text.parser import parse_object
from tasks.policy.generate import Completion, StopReason, as_messages, generate
from tasks.policy.guidance import Grammars, grammars_of
from tasks.synthesize.simulated import simulate_store

MAX_RATIO: Final = 1.15
LONGEST_WALK: Final = 10_000
"""Tokens; the grammar's longest query has fewer characters."""
GUIDED: Final = tuple(name for name, task in TASKS.items() if task.grammar)
SEED: Final = 1


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--model", type=Path, help="folder of a model and its tokenizer")
    parser.add_argument("--tasks", nargs="+", choices=GUIDED, default=GUIDED, help="tasks to answer")
    parser.add_argument("--prompts", type=int, default=48, help="of each task, answered as one batch")
    parser.add_argument("--tokens", type=int, default=512, help="longest answer; that of the profile l4")
    parser.add_argument("--temperature", type=float, default=1.0, help="of the answers")
    parser.add_argument("--repeats", type=int, default=2, help="of each measurement")
    parser.add_argument("--walks", type=int, default=1_000, help="through the SQL grammar")


def measure(report: Report, options: Namespace) -> None:
    """Answer each task's prompts with and without its grammar, and walk through the one of SQL."""
    store = simulate_store(1_500, random.Random("42:store"))
    examples = {name: list(EXAMPLE_MAKERS[name](store, random.Random(SEED), options.prompts)) for name in options.tasks}
    model, tokenizer = _policy(
        options.model, [text for made in examples.values() for each in made for text in _texts(each)]
    )
    databases = Databases.from_store(store)
    rows: list[Sequence[str | float]] = []
    total = [0.0, 0.0]
    for name in options.tasks:
        compiled = _seconds_to_compile(tokenizer, model, TASKS[name].grammar)
        conversations = [as_messages(each.system, each.prompt) for each in examples[name]]
        answers: dict[str, list[Completion]] = {}
        seconds = {"": float("inf"), TASKS[name].grammar: float("inf")}
        steps = options.tokens
        for _ in range(options.repeats):
            for grammar in (TASKS[name].grammar, ""):
                started = time.process_time()
                answers[grammar] = generate(
                    model,
                    tokenizer,
                    conversations,
                    temperature=options.temperature,
                    max_tokens=options.tokens if grammar else steps,
                    batch_size=len(conversations),
                    seed=SEED,
                    grammars=[grammar] * len(conversations),
                )
                spent = time.process_time() - started
                taken = max(each.tokens for each in answers[grammar])
                seconds[grammar] = min(seconds[grammar], spent / taken)
                steps = taken if grammar else steps
        pair = [seconds[""], seconds[TASKS[name].grammar]]
        total = [sum(each) for each in zip(total, pair, strict=True)]
        free, guided = (_wrong(name, answers[grammar], databases) for grammar in ("", TASKS[name].grammar))
        longest = max(each.tokens for each in answers[TASKS[name].grammar])
        rows.append(
            (name, free[0], *guided, longest, 1e3 * compiled, *(1e3 * each for each in pair), pair[1] / pair[0])
        )
        report.limit(guided[0] == 0, f"{name}: {guided[0]:.1%} of the guided answers are malformed")
    ratio = total[1] / total[0]
    rows.append(("all", "", "", "", "", "", "", *(1e3 * each for each in total), ratio))
    shares = {"task": "", "malformed": ".0%", "guided": ".0%", "cut off": ".0%", "too much": ".0%"}
    report.table(
        f"{options.prompts} answers of each task, at most {options.tokens} tokens; milliseconds to compile, of a step",
        {**shares, "longest": ",.0f", "compile": ",.0f", "ms": ".2f", "guided ": ".2f", "ratio": ".2f"},
        rows,
    )
    report.limit(ratio <= MAX_RATIO, f"guided answers take {ratio:.2f} times as long, limit {MAX_RATIO}")
    _walk(report, options, grammars_of(tokenizer, _vocabulary(model)), tokenizer, databases)


def _walk(report: Report, options: Namespace, grammars: Grammars, tokenizer: Any, databases: Databases) -> None:
    taken = list(walks(grammars, TASKS["sql_qa"].grammar, str(SEED), options.walks, LONGEST_WALK))
    lengths = sorted(len(tokens) for tokens in taken if tokens is not None)
    texts = [str(tokenizer.decode(tokens)) for tokens in taken if tokens is not None]
    refusals = Counter(databases.copies[0].execute(text).refusal for text in texts)
    wrong = refusals[Refusal.INVALID] + refusals[Refusal.FORBIDDEN] + len(taken) - len(texts)
    places = [lengths[int(share * (len(lengths) - 1))] for share in (0.5, 0.99, 1)]
    over = [sum(length > most for length in lengths) / len(lengths) for most in (128, 256, 512)]
    report.table(
        "Random walks through the SQL grammar; tokens of the median, of the 99th percentile and of the longest",
        {
            "walks": ",.0f",
            "malformed": ".1%",
            "too much": ".1%",
            "half": ",.0f",
            "99 %": ",.0f",
            "longest": ",.0f",
            "over 128": ".1%",
            "over 256": ".1%",
            "over 512": ".1%",
        },
        [(len(taken), wrong / len(taken), refusals[Refusal.TOO_MUCH] / len(taken), *places, *over)],
    )
    report.limit(wrong == 0, f"{wrong} of {len(taken)} walks through the SQL grammar are malformed")


def _texts(example: Example) -> tuple[str, str, str]:
    return example.system, example.prompt, TASKS[example.task].answer(example.reference)


def _vocabulary(model: Any) -> int:
    return int(model.get_output_embeddings().weight.shape[0])


def _seconds_to_compile(tokenizer: Any, model: Any, grammar: str) -> float:
    grammars = Grammars(tokenizer, _vocabulary(model))
    started = time.process_time()
    grammars.start(grammar)
    return time.process_time() - started


def _policy(folder: Path | None, texts: Sequence[str]) -> tuple[Any, Any]:
    from tasks.policy.load import load_policy, load_tokenizer
    from tasks.stand_in.model import StandInShape, build_model, build_tokenizer

    if folder is not None:
        return load_policy(folder, None, four_bit=False), load_tokenizer(folder)
    shape = StandInShape()
    tokenizer = build_tokenizer(texts, shape.vocabulary_size)
    return build_model(shape, tokenizer, SEED), tokenizer


def _wrong(task: TaskName, answers: Sequence[Completion], databases: Databases) -> tuple[float, float, float]:
    """Return the shares of answers that are malformed, cut off, and refused for their amount."""
    ended = [each.text for each in answers if each.stop_reason is StopReason.END_OF_TURN]
    cut = 1 - len(ended) / len(answers)
    wrong = sum(not _has_form(task, text, databases) for text in ended) / len(answers)
    much = sum(databases.copies[0].execute(text).refusal is Refusal.TOO_MUCH for text in ended if task == "sql_qa")
    return cut + wrong, cut, much / len(answers)


def _has_form(task: TaskName, text: str, databases: Databases) -> bool:
    if TASKS[task].answers_in_json:
        parsed, right = parse_object(text), parse_object(TASKS[task].answer({}))
        return parsed.cleanliness == 1.0 and list(parsed.value or {}) == list(right.value or {})
    if task == "sql_qa":
        found = candidates(text)
        if not found or form(found[0], text) < 1.0:
            return False
        return databases.copies[0].execute(found[0]).refusal in {None, Refusal.TOO_MUCH}
    return ENOUGH_GRAPHEMES <= len(text) <= MAX_GRAPHEMES and len(text.splitlines()) <= TITLE_AND_BODY


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
