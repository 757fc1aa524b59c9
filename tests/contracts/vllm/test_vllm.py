"""The pinned vLLM, on a CPU, in the place where `l4-next` has it on a card: three steps of its recipe, and a kill.

`make test-vllm` makes the environment of vLLM's build for CPUs and runs this. The child is started in it as a card's is
in the trainer's environment; everything before the training runs in this project's own.
"""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from benchmarks.checkpoints.trainings import make_request
from schemas.config.profiles import load_config
from schemas.config.train import TrainConfig
from schemas.errors import Interrupted
from schemas.source import REPOSITORY
from tasks.policy.child import ChildProcess, run_child
from tasks.policy.load import ADAPTER_FOLDER
from tasks.train.request import TrainRequest
from tasks.train.summaries import SUMMARY_FILE
from tests.contracts.vllm.child import FOUND_FILE
from tests.small_pipeline import PROFILE

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(3600)]

INTERPRETER = REPOSITORY / ".venv-vllm" / "bin" / "python"
STEPS = 3
# Enough of a warm start for some completions that end and earn something: those that are cut off are masked.
BEFORE = ("synthesize.counts={extraction=32, push=32}", "warm_start.steps=60")
SIZE: dict[str, Any] = {
    "seeds": [],
    "lora": {"rank": 4, "alpha": 8},
    "max_steps": STEPS,
    "prompts_per_step": 4,
    "generations": 4,
    "accumulation": 4,
    "max_completion_tokens": 48,
    # So that a policy which vLLM does not follow is seen at once.
    "learning_rate": 5e-2,
    "learning_rate_at_scale": None,
    "warmup_share": 0.0,
    "save_every": 1,
    "evaluate_every": 1,
    "preemption": {"notice_url": None},
}
ENVIRONMENT = {
    # In GB, of a cache that its share of a card's memory would be on one.
    "VLLM_CPU_KVCACHE_SPACE": "1",
    # The trainer computes in the same process.
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}
MEAN_DIFFERENCE = "sampling/sampling_logp_difference/mean"
MAX_DIFFERENCE = "sampling/sampling_logp_difference/max"
LARGEST_DIFFERENCE = 1e-3
"""Of a token's log-probability, in nats, by vLLM and by the trainer, both in float32."""


@dataclass
class Child:
    """A child from its start to its end, and the folder of its policy."""

    output: Path
    metrics: dict[int, dict[str, float]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    @property
    def adapter(self) -> str:
        return sha256((self.output / ADAPTER_FOLDER / "adapter_model.safetensors").read_bytes()).hexdigest()

    def document(self, name: str) -> Any:
        return json.loads((self.output / name).read_text(encoding="utf-8"))


def recipe() -> TrainConfig:
    """Return what `l4-next` trains by, at the stand-in's size and in the environment of vLLM for CPUs."""
    published = load_config("l4-next").train.model_dump()
    limits = load_config(str(PROFILE)).train.preflight.model_dump()
    return TrainConfig.model_validate({**published, **SIZE, "interpreter": INTERPRETER, "preflight": limits})


def live(request: TrainRequest, folder: Path, kill_after: int = STEPS) -> Child:
    """Run the child on a request, and kill it when it has reported so many steps, unless they are all."""
    child = Child(folder / "policy")
    processes: list[ChildProcess] = []

    def metrics(step: int, values: dict[str, float]) -> None:
        child.metrics.setdefault(step, {}).update(values)
        if step == kill_after < STEPS and "loss" in values:
            os.killpg(processes[0].pid, signal.SIGKILL)

    run_child(
        "tests.contracts.vllm.child",
        request.model_copy(update={"output": child.output}),
        folder,
        interpreter=request.config.interpreter,
        progress=lambda _done, _total, text: child.said.append(text),
        metrics=metrics,
        started=processes.append,
    )
    return child


@pytest.fixture(scope="module")
def requested(tmp_path_factory: pytest.TempPathFactory) -> TrainRequest:
    if not INTERPRETER.exists():
        pytest.fail(f"{INTERPRETER} is not there; `make test-vllm` makes it")
    root = tmp_path_factory.mktemp("vllm")
    made = make_request(str(PROFILE), BEFORE, root / "state", str(root / "mirror"), "uninterrupted")
    return made.model_copy(update={"config": recipe()})


@pytest.fixture(scope="module")
def uninterrupted(requested: TrainRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Child]:
    """A training to its end, in the environment of this and the other child."""
    with patch.dict(os.environ, ENVIRONMENT):
        # As on a card, where vLLM compiles; the other tests do not.
        os.environ.pop("TORCHDYNAMO_DISABLE", None)
        yield live(requested, tmp_path_factory.mktemp("uninterrupted"))


def test_each_sampling_has_the_weights_of_its_step(uninterrupted: Child) -> None:
    """Measured on the sampled tokens: a vLLM that did not follow would differ as much as the policy from its base."""
    metrics = uninterrupted.metrics
    assert sorted(metrics) == list(range(1, STEPS + 1))
    sampled = {step: values for step, values in metrics.items() if MEAN_DIFFERENCE in values}
    print("\n|log p vLLM - log p trainer| of each token, in nats, beside the policy's divergence from its base:")
    for step, values in sampled.items():
        figures = f"mean {values[MEAN_DIFFERENCE]:.1e}, max {values[MAX_DIFFERENCE]:.1e}; kl {values['kl']:.3f}"
        print(f"step {step}: {figures}")
    assert max(values[MAX_DIFFERENCE] for values in sampled.values()) < LARGEST_DIFFERENCE
    assert sampled[max(sampled)]["kl"] > 100 * LARGEST_DIFFERENCE, "the policy has not moved, so nothing is shown"


def test_the_base_is_the_same_after_merging_for_each_sampling(uninterrupted: Child) -> None:
    found = uninterrupted.document(FOUND_FILE)
    print(f"\nbase tensors changed: {found['base_tensors_changed']} of {found['base_tensors']}; calls {found['calls']}")
    assert found["base_tensors"] > 10
    assert found["base_tensors_changed"] == 0


def test_a_killed_training_ends_the_same(requested: TrainRequest, uninterrupted: Child, tmp_path: Path) -> None:
    request = requested.model_copy(update={"training": "killed"})
    with pytest.raises(Interrupted, match="SIGKILL"):
        live(request, tmp_path, kill_after=2)
    killed = live(request, tmp_path)
    assert killed.document(SUMMARY_FILE)["steps"] == STEPS
    (resumed,) = [text for text in killed.said if text.startswith("resumed at step")]
    print(f"\nSIGKILL in step 2, {resumed}; adapter {killed.adapter[:12]}, uninterrupted {uninterrupted.adapter[:12]}")
    assert killed.adapter == uninterrupted.adapter
    # The chosen adapter may be that of step 0; the last step shows where the policy went.
    for name in ("loss", "kl"):
        assert killed.metrics[STEPS][name] == uninterrupted.metrics[STEPS][name]
