"""Form and time of guided decoding: `python -m benchmarks.guided [--model FOLDER]`.

A model answers prompts of a simulated store, each task's with and without its grammar: the share of answers whose form
is wrong (no clean object of just the asked fields; a query that SQLite refuses or that stands among other text; a push
that is too long, too short or of three lines), of those that ended, the share that the token limit cut off, and the
seconds of a step in which every answer of a batch gets a token, the first apart (the least of repetitions, in turn).
Limits: no ended object or push has a wrong form under guidance, and all steps together take at most 1.15 times as
long. Without a folder the model is a stand-in of the local profile's size with random weights, which writes anything,
so that nothing but the grammar can make a form right, and whose steps cost the least that a grammar is added to.
"""

import random
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.harness import Report, run_benchmark
from schemas.config.policy import PolicyConfig
from schemas.tasks import TaskName
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.push.scorer import ENOUGH_GRAPHEMES, MAX_GRAPHEMES, TITLE_AND_BODY
from tasks.commerce.registry import TASKS
from tasks.commerce.sql_qa.query_text import candidates, form
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.text.parser import parse_object
from tasks.policy.generate import Completion, StopReason, as_messages, generate
from tasks.synthesize.simulated import simulate_store

MAX_RATIO: Final = 1.15
GUIDED: Final = tuple(name for name, task in TASKS.items() if task.grammar)
SEED: Final = 1


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--model", type=Path, help="folder of a model and its tokenizer")
    parser.add_argument("--prompts", type=int, default=48, help="of each task, answered as one batch")
    parser.add_argument("--tokens", type=int, default=128, help="longest answer")
    parser.add_argument("--temperature", type=float, default=1.0, help="of the answers")
    parser.add_argument("--repeats", type=int, default=2, help="of each measurement")


def measure(report: Report, options: Namespace) -> None:
    """Answer each task's prompts with and without its grammar."""
    store = simulate_store(1_500, random.Random("42:store"))
    examples = {name: list(EXAMPLE_MAKERS[name](store, random.Random(SEED), options.prompts)) for name in GUIDED}
    model, tokenizer = _policy(options.model, [each.prompt for made in examples.values() for each in made])
    databases = Databases.from_store(store)
    rows: list[Sequence[str | float]] = []
    total = [0.0, 0.0]
    for name in GUIDED:
        conversations = [as_messages(each.system, each.prompt) for each in examples[name]]
        answers: list[list[Completion]] = [[], []]
        seconds = [float("inf")] * 2
        for _ in range(options.repeats):
            for guided, grammar in enumerate(("", TASKS[name].grammar)):
                spent = []
                # The first token takes the reading of the prompt with it.
                for tokens in (1, options.tokens):
                    started = time.process_time()
                    answers[guided] = generate(
                        model,
                        tokenizer,
                        conversations,
                        temperature=options.temperature,
                        max_tokens=tokens,
                        batch_size=len(conversations),
                        seed=SEED,
                        grammars=[grammar] * len(conversations),
                    )
                    spent.append(time.process_time() - started)
                steps = max(each.tokens for each in answers[guided]) - 1
                seconds[guided] = min(seconds[guided], (spent[1] - spent[0]) / steps)
        total = [sum(pair) for pair in zip(total, seconds, strict=True)]
        wrong = [_share_wrong(name, each, databases) for each in answers]
        cut = [sum(each.stop_reason is StopReason.TOKEN_LIMIT for each in some) / len(some) for some in answers]
        rows.append((name, *wrong, *cut, *(1e3 * each for each in seconds), seconds[1] / seconds[0]))
        if name != "sql_qa":
            report.limit(wrong[1] == 0, f"{name}: {wrong[1]:.1%} of the guided answers that ended are malformed")
    ratio = total[1] / total[0]
    rows.append(("all", "", "", "", "", *(1e3 * each for each in total), ratio))
    of_answers = {"task": "", "malformed": ".0%", "guided": ".0%", "cut off": ".0%", "guided ": ".0%"}
    report.table(
        f"{options.prompts} answers of each task, at most {options.tokens} tokens; milliseconds of a step",
        {**of_answers, "ms": ".2f", "guided  ": ".2f", "ratio": ".2f"},
        rows,
    )
    report.limit(ratio <= MAX_RATIO, f"guided steps take {ratio:.2f} times as long, limit {MAX_RATIO}")


def _policy(folder: Path | None, texts: Sequence[str]) -> tuple[Any, Any]:
    from tasks.policy.load import load_policy, load_tokenizer
    from tasks.policy.stand_in import build_model, build_tokenizer

    if folder is not None:
        return load_policy(folder, None, four_bit=False), load_tokenizer(folder)
    stand_in = PolicyConfig(stand_in=True)
    tokenizer = build_tokenizer(texts, stand_in.vocabulary_size)
    return build_model(stand_in, tokenizer, SEED), tokenizer


def _share_wrong(task: TaskName, answers: Sequence[Completion], databases: Databases) -> float:
    """Return the share of the answers that ended whose form is wrong."""
    ended = [each.text for each in answers if each.stop_reason is StopReason.END_OF_TURN]
    return sum(not _has_form(task, text, databases) for text in ended) / len(ended) if ended else 0.0


def _has_form(task: TaskName, text: str, databases: Databases) -> bool:
    if TASKS[task].answers_in_json:
        parsed, right = parse_object(text), parse_object(TASKS[task].answer({}))
        return parsed.cleanliness == 1.0 and list(parsed.value or {}) == list(right.value or {})
    if task == "sql_qa":
        found = candidates(text)
        return bool(found) and form(found[0], text) == 1.0 and databases.run(found[0])[0].refusal is None
    return ENOUGH_GRAPHEMES <= len(text) <= MAX_GRAPHEMES and len(text.splitlines()) <= TITLE_AND_BODY


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
