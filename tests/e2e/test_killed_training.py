"""A training that is killed ends as one that is not; `benchmarks.preemption` does this twenty times, at random moments.

Whether a kill comes a moment before or after the end of a save is not decided here, and nothing depends on it.
"""

import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.preemption.runs import Moment, Result, Strike, make_request, run
from tasks.train.request import TrainRequest
from tests.small_pipeline import PROFILE

pytestmark = pytest.mark.e2e

SETTINGS = (
    "synthesize.counts={extraction=32, push=32}",
    # Enough for some completions that earn something: where none does, nothing is learnt that could differ.
    "warm_start.steps=150",
    "train.max_steps=16",
    "train.iterations=2",
    "train.prompts_per_step=8",
    "train.save_every=1",
    "train.patience=100",
    "train.entropy={adaptive=true, coefficient=0.001, target=8.0}",
    'train.task_weights={applies_to="sampler", every=1}',
    "train.guided_correction={share=0.5}",
    "train.dynamic_sampling={extra_groups=2}",
)


@pytest.fixture(scope="module")
def request_to_train(tmp_path_factory: pytest.TempPathFactory) -> TrainRequest:
    root = tmp_path_factory.mktemp("killed")
    return make_request(str(PROFILE), SETTINGS, root / "state", str(root / "mirror"), "uninterrupted")


@pytest.fixture(scope="module")
def uninterrupted(request_to_train: TrainRequest, tmp_path_factory: pytest.TempPathFactory) -> Result:
    found = run(request_to_train, tmp_path_factory.mktemp("uninterrupted"), lambda _: None)
    assert found.result is not None, found.lives[0].sentence
    assert found.result.rounds >= 1, "no prompt is drawn again in another order"
    return found.result


@pytest.mark.parametrize(
    "strikes",
    [
        pytest.param([Strike(Moment(0.0, "save", 5), empties=False)], id="in-a-save"),
        pytest.param([Strike(Moment(0.0, "upload", 5), empties=True)], id="in-an-upload-and-the-disk-is-lost"),
        pytest.param(
            [
                Strike(Moment(0.0, "evaluation", 2), empties=False),
                Strike(Moment(0.05, "step", 6), empties=True),
            ],
            id="in-an-evaluation-and-in-a-step-and-the-disk-is-lost",
        ),
    ],
)
def test_a_killed_training_ends_with_the_same_bytes_as_an_uninterrupted_one(
    request_to_train: TrainRequest,
    uninterrupted: Result,
    tmp_path: Path,
    strikes: Sequence[Strike],
) -> None:
    request = request_to_train.model_copy(update={"training": tmp_path.name})
    found = run(request, tmp_path, lambda lives: strikes[len(lives)] if len(lives) < len(strikes) else None)
    assert [life.exit_code for life in found.lives] == [*(-signal.SIGKILL for _ in strikes), 0]
    assert all(life.resumed_from for life in found.lives[1:]), "it began again"
    assert found.result is not None
    assert found.result.differences(uninterrupted) == []
