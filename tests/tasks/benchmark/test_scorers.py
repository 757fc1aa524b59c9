"""The scorers give the pipeline's rewards, without its libraries, and stay bounded on hostile answers."""

import subprocess
import sys
from pathlib import Path

import pytest

from schemas.source import REPOSITORY
from schemas.store.files import read_store
from schemas.store.store import Store
from tasks.benchmark.folder import read_items
from tasks.benchmark.scorers import Benchmark
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.evaluate.ground_truth import truth_of
from tests.contracts.adapters.rollouts import AUDIT, draw_rollouts, write_rollouts

HEAVY = ("torch", "prefect", "mlflow", "polars", "pandas", "numpy", "scipy", "transformers", "trl", "httpx")
HOSTILE = (
    "",
    "\ud800",
    "{" * 20_000,
    "a" * 300_000,
    "ção 😀 " * 20_000,
)


def test_they_give_the_rewards_and_truths_of_the_pipeline(tmp_path: Path) -> None:
    rollouts = draw_rollouts()[::3]
    write_rollouts(tmp_path, rollouts)
    benchmark, databases = Benchmark(tmp_path), Databases.from_store(read_audit_store())
    for number, rollout in enumerate(rollouts):
        score, scored = benchmark.score(f"{number:04}", rollout.completion), score_rollout(rollout, databases)
        assert (score.reward, score.components) == (scored.reward, scored.components)
        assert score.truth == truth_of(rollout, databases)


def read_audit_store() -> Store:
    return read_store(AUDIT / "store")


def test_they_import_none_of_the_heavy_libraries(folder: Path) -> None:
    item = next(item for item in read_items(folder) if item.task == "sql_qa")
    code = (
        "import sys\n"
        f"for name in {HEAVY!r}: sys.modules[name] = None\n"
        "from tasks.benchmark.scorers import Benchmark\n"
        f"score = Benchmark({str(folder)!r}).score({item.id!r}, {TASKS['sql_qa'].answer(item.reference)!r})\n"
        "print(score.reward, score.truth)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, check=False)
    assert ended.stdout == "1.0 1.0\n", ended.stderr


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_hostile_answer_earns_between_nothing_and_all_and_raises_nothing(folder: Path, number: int) -> None:
    benchmark = Benchmark(folder)
    for task in TASKS:
        item = next(item for item in benchmark.items.values() if item.task == task)
        score = benchmark.score(item, HOSTILE[number])
        assert 0 <= score.reward < 0.5
        assert score.truth is not None and 0 <= score.truth <= 1
