"""The product on Unsloth's own trainer: it may start, steps as TRL does, and resumes; no card is needed to know that.

Each backend works in a process of its own, which is how the product runs it.
"""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.checkpoints.trainings import result_of
from schemas.errors import Interrupted
from schemas.source import REPOSITORY
from tasks.policy.child import ChildProcess, run_child
from tasks.policy.load import load_tokenizer
from tasks.train.preflight.check import PREFLIGHT_FILE
from tasks.train.request import TrainRequest
from tests.contracts.tokenizers.published import KINDS, Kind, published_tokenizer
from tests.contracts.tokenizers.second_reading import described
from tests.contracts.unsloth.first_steps import PLAIN, RECIPES
from tests.contracts.unsloth.inputs import make_request
from tests.tasks.train.preflight.test_run import NAMES

pytestmark = [pytest.mark.unsloth, pytest.mark.timeout(1800)]

UNSLOTH_PYTHON = REPOSITORY / ".venv-unsloth" / "bin" / "python"
CHILD = "tests.contracts.unsloth.inputs"
FIRST_STEPS, SECOND_READING = "tests.contracts.unsloth.first_steps", "tests.contracts.tokenizers.second_reading"
TOLERANCE = 1e-3
"""Largest difference of a loss or a gradient norm, as a share of TRL's; float32 sums the same in another order."""
ABSOLUTE = 1e-6
"""The same where TRL's is about 0."""
OWN_FIELDS = ("unsloth_", "vllm_sampling_params")
"""How the fields begin that only Unsloth's configuration has."""
EVALUATED_IN = "bf16_full_eval"
"""The precision of what the Trainer evaluates, which is nothing: Unsloth sets it to that of the training."""


@dataclass(frozen=True)
class Steps:
    """The first steps of each recipe by both trainers."""

    trl: dict[str, Any]
    unsloth: dict[str, Any]


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Steps:
    folder = tmp_path_factory.mktemp("steps")
    return _both(make_request(folder, prompts_per_step=4), folder)


def _both(request: TrainRequest, folder: Path, *only: str) -> Steps:
    file = folder / "request.json"
    file.write_text(request.model_dump_json(), encoding="utf-8")
    with ThreadPoolExecutor() as pool:
        by_trl = pool.submit(_asked, Path(sys.executable), FIRST_STEPS, "transformers", file, *only)
        by_unsloth = pool.submit(_asked, UNSLOTH_PYTHON, FIRST_STEPS, "unsloth", file, *only)
    return Steps(by_trl.result(), by_unsloth.result())


def _asked(python: Path, module: str, name: str, file: Path, *others: str) -> dict[str, Any]:
    """Return what a child of one of the two environments writes of an input."""
    output = file.with_name(f"{name}.json")
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "TOKENIZERS_PARALLELISM": "false"}
    command = [str(python), "-m", module, name, str(file), str(output), *others]
    # As on a card, where Unsloth compiles; the other tests do not.
    environment.pop("TORCHDYNAMO_DISABLE", None)
    done = subprocess.run(command, env=environment, cwd=file.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    return found


def test_unsloths_trainer_pads_on_the_left_and_logs_a_divergence_that_was_measured(steps: Steps) -> None:
    assert "UnslothGRPOTrainer" in steps.unsloth[PLAIN]["trainer"]
    assert "UnslothGRPOTrainer" not in steps.trl[PLAIN]["trainer"]
    assert {found["padding"] for found in steps.unsloth.values()} == {"left"}
    assert [recipe for recipe, found in steps.unsloth.items() if "kl" in found["figures"]] == ["KL penalty"]


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_steps_as_by_trl_and_by_no_default_of_unsloth(recipe: str, steps: Steps) -> None:
    trl, unsloth = steps.trl[recipe], steps.unsloth[recipe]
    differing = {
        name: (trl["arguments"].get(name), value)
        for name, value in unsloth["arguments"].items()
        if value != trl["arguments"].get(name) and not name.startswith(OWN_FIELDS) and name != EVALUATED_IN
    }
    assert differing == {}
    print(f"{recipe}: TRL's loss and gradient norm, and Unsloth's")
    _compare(trl, unsloth)


def _compare(trl: dict[str, Any], unsloth: dict[str, Any]) -> None:
    for expected, found in zip(trl["steps"], unsloth["steps"], strict=True):
        pairs = [(of["loss"], of["grad_norm"]) for of in (expected, found)]
        print("  " + " | ".join(f"{loss:+.8f} {norm:.8f}" for loss, norm in pairs))
        for figure in {"reward", "completions/mean_length", "loss", "grad_norm"} & expected.keys():
            assert found[figure] == pytest.approx(expected[figure], rel=TOLERANCE, abs=ABSOLUTE), figure
    assert max(step["grad_norm"] for step in trl["steps"]) > 1e-4, "a step without a gradient compares nothing"


@pytest.mark.parametrize("kind", KINDS[:2])
def test_a_published_tokenizer_is_read_and_trained_with_as_without_unsloth(kind: Kind, tmp_path: Path) -> None:
    """Unsloth reads it a second time, and repairs what it takes for broken: the tokenizer, and the model after it."""
    request = make_request(tmp_path, published_tokenizer(kind, "hybrid", begins=True), prompts_per_step=4)
    steps = _both(request, tmp_path, PLAIN)
    _compare(steps.trl[PLAIN], steps.unsloth[PLAIN])
    found = _asked(UNSLOTH_PYTHON, SECOND_READING, "second", request.base / "config.json")
    assert found.pop("changed") == []
    own = json.loads(json.dumps(described(load_tokenizer(request.base))))
    assert found == {"ours": own, "unsloth": own}


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


def test_the_preflight_passes_and_a_killed_training_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    often = {"max_steps": 12, "save_every": 1, "evaluate_every": 1, "iterations": 2, "patience": 13}
    # The killed process's right to its training ends soon.
    request = make_request(tmp_path, backend="unsloth", preemption={"lease_seconds": 2}, **often)
    killed = request.model_copy(update={"training": "killed", "output": tmp_path / "resumed-output"})
    with ThreadPoolExecutor() as pool:
        whole = pool.submit(_train, request, tmp_path / "uninterrupted")
        with pytest.raises(Interrupted, match="SIGKILL"):
            _train(killed, tmp_path / "killed", kill_after=3)
    whole.result()
    assert len(_train(killed, tmp_path / "killed")) == 1
    checks = json.loads((tmp_path / "uninterrupted" / PREFLIGHT_FILE).read_text(encoding="utf-8"))["checks"]
    assert [(check["name"], check["passed"]) for check in checks] == [(name, True) for name in NAMES]
    uninterrupted = result_of(request, tmp_path / "uninterrupted-end")
    assert result_of(killed, tmp_path / "killed-end").differences(uninterrupted) == []
