"""A benchmark is the same for the same seed, and its answers are counted item by item."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError
from schemas.progress import silent
from schemas.source import REPOSITORY
from schemas.tasks import TASK_NAMES
from tasks.benchmark.answers import read_answers, score_answers
from tasks.benchmark.scorers import Benchmark
from tasks.benchmark.write import write_benchmark
from tasks.commerce.registry import TASKS
from tasks.synthesize.simulated import simulate_store
from tests.tasks.benchmark.conftest import ORDERS, PER_TASK, SEED


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def right(folder: Path, **more: Any) -> list[dict[str, Any]]:
    items = Benchmark(folder).items.values()
    return [{"id": item.id, "completion": TASKS[item.task].answer(item.reference), **more} for item in items]


def test_right_answers_have_the_truth_of_one_in_every_task(folder: Path, tmp_path: Path) -> None:
    benchmark = Benchmark(folder)
    path = write(tmp_path / "a.jsonl", right(folder, prompt_tokens=10, completion_tokens=2, seconds=0.5))
    answers = read_answers(path, list(benchmark.items.values()))
    scored = score_answers(benchmark, answers, "grounded")
    assert list(scored["tasks"]) == list(TASK_NAMES)
    assert {tuple(block["truth"]) for block in scored["tasks"].values()} == {(1.0, 1.0, 1.0)}
    assert {block["n"] for block in scored["tasks"].values()} == {PER_TASK}
    count = PER_TASK * len(TASK_NAMES)
    assert scored["tokens"] == {"prompt": 10 * count, "completion": 2 * count}
    assert scored["seconds"] == 0.5 * count


def test_several_answers_to_an_item_count_as_one_question(folder: Path, tmp_path: Path) -> None:
    benchmark = Benchmark(folder)
    lines = right(folder) + [{**line, "completion": ""} for line in right(folder)]
    scored = score_answers(
        benchmark, read_answers(write(tmp_path / "a.jsonl", lines), list(benchmark.items.values())), "grounded"
    )
    assert scored["tasks"]["sql_qa"]["n"] == PER_TASK
    assert scored["tasks"]["sql_qa"]["truth"] == [0.5, 0.5, 0.5]
    assert scored["tokens"] == {"prompt": None, "completion": None}


@pytest.mark.parametrize(
    ("change", "message"),
    (
        (lambda lines: lines[1:], "1 of 36 items have fewer answers than others, or none"),
        (lambda lines: [*lines, {"id": "x", "completion": ""}], "line 37: the benchmark has no item 'x'"),
    ),
)
def test_missing_and_unknown_answers_are_refused(folder: Path, tmp_path: Path, change: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_answers(write(tmp_path / "a.jsonl", change(right(folder))), list(Benchmark(folder).items.values()))


def test_scorers_need_no_large_library() -> None:
    code = "import sys, tasks.benchmark.scorers; print([n for n in ('torch', 'polars', 'mlflow') if n in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, check=True)
    assert ended.stdout == "[]\n"


FILES = ("card.json", "store.json", "test.jsonl")


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(folder: Path, tmp_path: Path) -> None:
    again, other = tmp_path / "again", tmp_path / "other"
    for path, seed in ((again, SEED), (other, SEED + 1)):
        path.mkdir()
        write_benchmark(seed, PER_TASK, ORDERS, path, silent)
    assert {path.name for path in folder.iterdir()} == set(FILES)
    assert all((folder / name).read_bytes() == (again / name).read_bytes() for name in FILES)
    assert not {item.id for item in Benchmark(folder).items.values()} & {
        item.id for item in Benchmark(other).items.values()
    }


def test_its_store_is_of_a_seed_that_no_training_run_draws_from(folder: Path) -> None:
    written = json.loads((folder / "store.json").read_text(encoding="utf-8"))["copies"][0]["orders"]["rows"]
    ours = {row[0] for row in written}
    assert ours == set(simulate_store(ORDERS, random.Random(f"benchmark:{SEED}:store")).orders["order_id"])
    for seed in (SEED, 0, 1, 42):
        assert not ours & set(simulate_store(ORDERS, random.Random(f"{seed}:store")).orders["order_id"])
