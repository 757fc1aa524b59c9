"""Training in two processes, by gloo on a CPU: the same as in one, and it ends and goes on as one."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import torch

from schemas.errors import Interrupted
from tasks.policy.child import RANK, ChildProcess
from tasks.train.request import TrainRequest
from tests.tasks.train.divided_training import Trained, divided, make_request, train

GRPO = "tasks.train.children.grpo"
BY_PASS = {"kl", "entropy"}
"""Of a few completions of each process's last pass, and a mean of the passes' means: the number of processes decides
which completions share one."""
pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def request_to_train(tmp_path_factory: pytest.TempPathFactory) -> TrainRequest:
    return make_request(tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="module")
def in_two(request_to_train: TrainRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("two")
    return train(GRPO, divided(request_to_train, folder, 2), folder)


def test_two_processes_train_as_one(request_to_train: TrainRequest, in_two: Trained, tmp_path: Path) -> None:
    in_one = train(GRPO, divided(request_to_train, tmp_path, 1), tmp_path)
    for name, weights in in_one.adapter.items():
        # A hundredth of a step: Adam makes a whole one of the smallest gradient, in which last bits weigh.
        assert torch.allclose(weights, in_two.adapter[name], rtol=0, atol=1e-4), name
    assert in_one.rollouts["advantage"].is_not_null().any()
    assert in_one.rollouts["corrected"].any(), "every reward was 0, and no gradient could differ"
    assert in_two.rollouts.drop("advantage").equals(in_one.rollouts.drop("advantage"))
    differences = (in_two.rollouts["advantage"] - in_one.rollouts["advantage"]).abs()
    assert differences.max() < 1e-5  # type: ignore[operator]
    assert in_two.validation == in_one.validation
    assert len(in_one.log) == len(in_two.log) == 4
    for one, two in zip(in_one.log, in_two.log, strict=True):
        assert one.keys() == two.keys()
        assert one["grad_norm"] > 0
        assert {name: two[name] for name in two if name not in BY_PASS} == pytest.approx(
            {name: one[name] for name in one if name not in BY_PASS}, abs=1e-5
        )


def _kill(processes: list[psutil.Process], rank: int) -> None:
    (struck,) = [each for each in processes if each.environ().get(RANK) == str(rank)]
    struck.kill()


STRIKES: list[tuple[int, Callable[[list[psutil.Process]], None]]] = [
    (2, lambda processes: _kill(processes, 1)),
    (3, lambda processes: _kill(processes, 0)),
    (3, lambda processes: os.killpg(processes[0].pid, signal.SIGTERM)),
]
"""What ends a process, and after which step; a killed one has not yet saved it."""


def test_the_end_of_one_process_ends_both_and_the_same_request_resumes(
    request_to_train: TrainRequest, in_two: Trained, tmp_path: Path
) -> None:
    request = divided(request_to_train, tmp_path, 2)
    progress: list[str] = []
    for step, strike in STRIKES:
        processes: list[psutil.Process] = []

        def started(child: ChildProcess, processes: list[psutil.Process] = processes) -> None:
            processes.append(psutil.Process(child.pid))

        def strike_once(
            done: int,
            total: int,
            text: str,
            processes: list[psutil.Process] = processes,
            step: int = step,
            strike: Callable[[list[psutil.Process]], None] = strike,
        ) -> None:
            progress.append(text)
            if (done, total) == (step, request.config.max_steps) and len(processes) == 1:
                processes.extend(processes[0].children(recursive=True))
                strike(processes)

        with pytest.raises(Interrupted, match="run the same command again"):
            train(GRPO, request, tmp_path, progress=strike_once, started=started)
        assert len(processes) == 3, "a launcher and two processes"
        _, alive = psutil.wait_procs(processes, timeout=20)
        assert alive == []

    resumed = train(GRPO, request, tmp_path, progress=lambda done, total, text: progress.append(text))
    found = [text for text in progress if text.startswith("resumed at step ")]
    assert len(found) == len(STRIKES), "it began again"
    assert all(torch.equal(weights, in_two.adapter[name]) for name, weights in resumed.adapter.items())
    assert _equal(resumed.optimizer, in_two.optimizer)
    assert resumed.rollouts.equals(in_two.rollouts)
    assert resumed.log == in_two.log


def _equal(one: object, other: object) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return one == other
