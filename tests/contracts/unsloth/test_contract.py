"""The product on Unsloth's own trainer: it may start, steps as TRL does, and resumes; no card is needed to know that.

Each backend works in a process of its own, which is how the product runs it.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.checkpoints.trainings import Result, result_of
from schemas.errors import Interrupted
from schemas.source import REPOSITORY
from tasks.policy.child import ChildProcess, run_child
from tasks.train.preflight.check import PREFLIGHT_FILE
from tasks.train.request import TrainRequest
from tests.contracts.unsloth.first_steps import PLAIN, RECIPES
from tests.contracts.unsloth.inputs import make_request
from tests.tasks.train.preflight.test_run import NAMES

pytestmark = [pytest.mark.unsloth, pytest.mark.timeout(1800)]

UNSLOTH_PYTHON = REPOSITORY / ".venv-unsloth" / "bin" / "python"
CHILD = "tests.contracts.unsloth.child"
TOLERANCE = 1e-3
"""Largest difference of a loss or a gradient norm, as a share of TRL's; float32 sums the same in another order."""
ABSOLUTE = 1e-6
"""The same where TRL's is about 0."""
OWN_FIELDS = ("unsloth_", "vllm_sampling_params")
"""How the fields begin that only Unsloth's configuration has."""
EVALUATED_IN = "bf16_full_eval"
"""The precision of what the Trainer evaluates, which is nothing: Unsloth sets it to that of the training."""

QUICK_LEASE = {"preemption": {"lease_seconds": 2}}
"""The killed process's right to its training ends soon."""


@dataclass(frozen=True)
class Steps:
    """The first steps of each recipe by both trainers."""

    trl: dict[str, Any]
    unsloth: dict[str, Any]


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Steps:
    folder = tmp_path_factory.mktemp("steps")
    request = folder / "request.json"
    request.write_text(make_request(folder, prompts_per_step=4).model_dump_json(), encoding="utf-8")
    with ThreadPoolExecutor() as pool:
        by_trl = pool.submit(_first_steps, Path(sys.executable), "transformers", request)
        by_unsloth = pool.submit(_first_steps, UNSLOTH_PYTHON, "unsloth", request)
    return Steps(by_trl.result(), by_unsloth.result())


def _first_steps(python: Path, backend: str, request: Path) -> dict[str, Any]:
    output = request.with_name(f"{backend}.json")
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "TOKENIZERS_PARALLELISM": "false"}
    command = [str(python), "-m", "tests.contracts.unsloth.first_steps", backend, str(request), str(output)]
    # As on a card, where Unsloth compiles; the other tests do not.
    environment.pop("TORCHDYNAMO_DISABLE", None)
    done = subprocess.run(command, env=environment, cwd=request.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    return found


def test_it_is_unsloths_trainer_that_is_compared_with_trls(steps: Steps) -> None:
    assert "UnslothGRPOTrainer" in steps.unsloth[PLAIN]["trainer"]
    assert "UnslothGRPOTrainer" not in steps.trl[PLAIN]["trainer"]


def test_padding_stays_on_the_left(steps: Steps) -> None:
    assert {found["padding"] for found in steps.unsloth.values()} == {"left"}


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_takes_the_steps_that_it_takes_by_trl(recipe: str, steps: Steps) -> None:
    by_trl, by_unsloth = steps.trl[recipe]["steps"], steps.unsloth[recipe]["steps"]
    print(f"{recipe}: TRL's loss and gradient norm, and Unsloth's")
    for expected, found in zip(by_trl, by_unsloth, strict=True):
        pairs = [(of["loss"], of["grad_norm"]) for of in (expected, found)]
        print("  " + " | ".join(f"{loss:+.8f} {norm:.8f}" for loss, norm in pairs))
    assert max(step["grad_norm"] for step in by_trl) > 1e-4, "a step without a gradient compares nothing"
    for expected, found in zip(by_trl, by_unsloth, strict=True):
        for figure in {"reward", "completions/mean_length", "loss", "grad_norm"} & expected.keys():
            assert found[figure] == pytest.approx(expected[figure], rel=TOLERANCE, abs=ABSOLUTE), figure


def test_a_divergence_is_logged_where_it_was_measured(steps: Steps) -> None:
    logged = {recipe: "kl" in found["figures"] for recipe, found in steps.unsloth.items()}
    assert {recipe for recipe, is_logged in logged.items() if is_logged} == {"KL penalty"}


@pytest.mark.parametrize("recipe", RECIPES)
def test_no_default_of_unsloth_decides(recipe: str, steps: Steps) -> None:
    by_trl, by_unsloth = steps.trl[recipe]["arguments"], steps.unsloth[recipe]["arguments"]
    differing = {
        name: (by_trl.get(name), value)
        for name, value in by_unsloth.items()
        if value != by_trl.get(name) and not name.startswith(OWN_FIELDS) and name != EVALUATED_IN
    }
    assert differing == {}


@dataclass(frozen=True)
class Trained:
    """A training, and another of the same request that was killed and resumed."""

    folder: Path
    uninterrupted: Result
    killed: Result
    resumed_at: Sequence[str]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("trained")
    request = make_request(
        folder,
        backend="unsloth",
        max_steps=12,
        save_every=1,
        evaluate_every=1,
        iterations=2,
        patience=13,
        **QUICK_LEASE,
    )
    killed = request.model_copy(update={"training": "killed", "output": folder / "resumed-output"})
    with ThreadPoolExecutor() as pool:
        whole = pool.submit(_train, request, folder / "uninterrupted")
        with pytest.raises(Interrupted, match="SIGKILL"):
            _train(killed, folder / "killed", kill_after=3)
    whole.result()
    resumed = _train(killed, folder / "killed")
    results = [result_of(of, folder / name) for of, name in ((request, "uninterrupted-end"), (killed, "killed-end"))]
    return Trained(folder, results[0], results[1], resumed)


def _train(request: TrainRequest, folder: Path, kill_after: int | None = None) -> list[str]:
    """Run the child to its end, or kill it at a step with a checkpoint before it; return what it said of a resume."""
    children: list[ChildProcess] = []
    said: list[str] = []

    def strike(step: int, _: dict[str, float]) -> None:
        # Checkpoints are mirrored beside the steps, which may be faster.
        mirrored = any(Path(str(request.mirror)).rglob("manifests/*.json"))
        if kill_after is not None and children and mirrored and step >= kill_after:
            os.killpg(children.pop().pid, signal.SIGKILL)

    def listen(done: int, total: int, text: str) -> None:
        if text.startswith("resumed"):
            said.append(text)

    run_child(
        CHILD, request, folder, interpreter=UNSLOTH_PYTHON, progress=listen, metrics=strike, started=children.append
    )
    return said


def test_the_whole_preflight_passes(trained: Trained) -> None:
    checks = json.loads((trained.folder / "uninterrupted" / PREFLIGHT_FILE).read_text(encoding="utf-8"))["checks"]
    assert [check["name"] for check in checks] == list(NAMES)
    assert [check["name"] for check in checks if not check["passed"]] == []


def test_a_killed_training_ends_as_an_uninterrupted_one(trained: Trained) -> None:
    assert len(trained.resumed_at) == 1
    assert trained.killed.differences(trained.uninterrupted) == []
