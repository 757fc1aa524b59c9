"""A thousand rollouts for the adapters: those of the shipped audit, and the same with their texts mutated."""

import json
import random
from pathlib import Path
from typing import Final

from schemas.documents import Rollout
from schemas.store.files import read_store
from tasks.benchmark.folder import BenchmarkItem, write_folder
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases, copies_of, tables_of

AUDIT: Final = Path(__file__).resolve().parents[3] / "data" / "audit"
COUNT: Final = 1_000
NOISE: Final = ("", " ", "\n\n", "  \t", "```", '{"', "}", "NULL", "ção", "😀", "\u2028", "DROP TABLE orders;", "1e999")


def draw_rollouts(seed: int = 0) -> list[Rollout]:
    """Return `COUNT` rollouts of all tasks: the audit's as they are, then mutated."""
    generator = random.Random(seed)
    lines = (AUDIT / "rollouts.jsonl").read_text(encoding="utf-8").splitlines()
    shipped = [Rollout.model_validate_json(line) for line in lines]
    drawn = list(shipped)
    while len(drawn) < COUNT:
        rollout = generator.choice(shipped)
        drawn.append(rollout.model_copy(update={"completion": mutate(rollout.completion, generator)}))
    return drawn[:COUNT]


def mutate(text: str, generator: random.Random) -> str:
    """Return a text with blanks or noise around it, cut, repeated, or with characters in other places."""
    noise = generator.choice(NOISE)
    places = sorted(generator.sample(range(len(text) + 1), 2)) if text else [0, 0]
    return generator.choice(
        (
            f"{noise}{text}{generator.choice(NOISE)}",
            text[: places[0]] + noise + text[places[0] :],
            text[: places[0]] + text[places[1] :],
            text[: places[1]],
            text + text,
            text.swapcase(),
        )
    )


def write_rollouts(folder: Path, rollouts: list[Rollout]) -> None:
    """Write a benchmark with an item for each rollout, and `expected.jsonl` with what the pipeline's reward gives."""
    store = read_store(AUDIT / "store")
    databases = Databases.from_store(store)
    items, expected = [], []
    for number, rollout in enumerate(rollouts):
        name = f"{number:04}"
        items.append(
            BenchmarkItem(
                id=name,
                task=rollout.task,
                system=TASKS[rollout.task].system,
                prompt=rollout.prompt,
                reference=rollout.reference or {},
            )
        )
        reward = score_rollout(rollout, databases).reward
        expected.append({"id": name, "completion": rollout.completion, "reward": reward})
    write_folder(folder, items, [tables_of(copy) for copy in copies_of(store)], {})
    (folder / "expected.jsonl").write_text("".join(json.dumps(line) + "\n" for line in expected), encoding="utf-8")
