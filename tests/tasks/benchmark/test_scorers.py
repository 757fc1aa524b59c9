"""The scorers give the pipeline's rewards, without its libraries, and stay bounded on hostile answers."""

from pathlib import Path

from schemas.store.files import read_store
from schemas.store.store import Store
from tasks.benchmark.scorers import Benchmark
from tasks.commerce.registry import score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.evaluate.ground_truth import truth_of
from tests.contracts.adapters.rollouts import AUDIT, draw_rollouts, write_rollouts


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
