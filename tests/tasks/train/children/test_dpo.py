"""DPO: the loss of the paper on a CPU, every argument set, pairs and weights the same after a resume."""

import io
import json
import math
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.config.train import TrainConfig
from schemas.errors import GateRefused
from tasks.commerce import registry
from tasks.policy.child import Channel
from tasks.train.children import dpo
from tasks.train.children.dpo import require_pairs
from tasks.train.dpo.pairs import pairs_per_pass
from tasks.train.stage import train
from tests.tasks.train.small_child import make_request
from tests.tasks.train.small_training import RECIPE, adapter_weights, paid_by_length, small_preference_trainer


def _log_probability(model: Any, prompt: list[int], completion: list[int]) -> float:
    """Compute the log-probability of a completion, one token after another."""
    import torch

    total = 0.0
    for place, token in enumerate(completion):
        logits = model(torch.tensor([prompt + completion[:place]])).logits[0, -1]
        total += torch.log_softmax(logits, dim=-1)[token].item()
    return total


def test_the_loss_is_that_of_the_paper(tmp_path: Path) -> None:
    """Eq. 7 of 2305.18290: -log sigmoid(beta (log-ratio of the chosen - log-ratio of the rejected)), by the token."""
    import torch

    trainer = small_preference_trainer(tmp_path, preferences={"beta": 0.3})
    generator = torch.Generator().manual_seed(1)
    for weights in adapter_weights(trainer):
        parameter = trainer.model.get_parameter(weights)
        parameter.data = torch.randn(parameter.shape, generator=generator) / 4
    trainer.model.eval()
    rows = [trainer.train_dataset[place] for place in (0, 3, 5)]
    with torch.no_grad():
        found = trainer.compute_loss(trainer.model, trainer.data_collator(rows)).item()
        losses, margins = [], []
        for row in rows:
            prompt, chosen, rejected = row["prompt_ids"], row["chosen_ids"], row["rejected_ids"]
            better = _log_probability(trainer.model, prompt, chosen)
            worse = _log_probability(trainer.model, prompt, rejected)
            with trainer.model.disable_adapter():
                better -= _log_probability(trainer.model, prompt, chosen)
                worse -= _log_probability(trainer.model, prompt, rejected)
            margins.append(0.3 * (better - worse))
            losses.append(math.log1p(math.exp(-margins[-1])))
    assert max(losses) - min(losses) > 0.01
    assert found == pytest.approx(sum(losses) / 3, abs=1e-4)
    assert trainer._metrics["eval"]["rewards/margins"] == [pytest.approx(sum(margins) / 3, abs=1e-4)]


def test_too_few_pairs_for_a_step_are_refused() -> None:
    config = TrainConfig(prompts_per_step=2, generations=4)
    assert pairs_per_pass(config) == 4
    require_pairs(4, config)
    with pytest.raises(
        GateRefused, match=r"too few pairs \(3, one step needs 4\) .* differ by train.preferences.min_gap 0.1; raise"
    ):
        require_pairs(3, config)


class _Stopped(BaseException):
    """The machine is taken away."""


class _FragileChannel(Channel):
    """Ends the process, so to speak, when a step is reported and an earlier one is in the mirror."""

    def __init__(self, at: int, mirror: Path) -> None:
        super().__init__(io.StringIO())
        self._at = at
        self._mirror = mirror

    def metrics(self, step: int, values: dict[str, float]) -> None:
        if step == self._at:
            # The two threads that write and mirror may be slower than a step of this model.
            deadline = time.monotonic() + 60
            while not any(self._mirror.rglob("manifests/*.json")):
                assert time.monotonic() < deadline, "no checkpoint was mirrored"
                time.sleep(0.01)
            raise _Stopped
        super().metrics(step, values)


DPO = {
    **RECIPE,
    "algorithm": "dpo",
    "max_steps": 6,
    "prompts_per_step": 1,
    "generations": 8,
    # A policy that knows nothing ends few of its completions.
    "max_completion_tokens": 48,
    "preferences": {"min_gap": 0.001, "prompts": 100},
}


@pytest.fixture
def _handler() -> Iterator[None]:
    # A training takes a signal for a notice of its own process.
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)


@pytest.mark.integration
@pytest.mark.usefixtures("_handler")
def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    score = registry.score_rollout
    monkeypatch.setattr(registry, "score_rollout", lambda *given: paid_by_length(score(*given)))
    # What it checks has tests of its own.
    monkeypatch.setattr("tasks.train.stage._Training._check", lambda *_: None)
    asked = make_request(tmp_path, **DPO)

    def run(name: str, training: str, channel: Channel | None = None) -> Path:
        request = asked.model_copy(update={"training": training, "output": tmp_path / name / "output"})
        file = tmp_path / name / "dpo.request.json"
        file.parent.mkdir()
        file.write_text(request.model_dump_json(), encoding="utf-8")
        train(file, channel or Channel(io.StringIO()), dpo.start)
        return request.output

    whole = run("whole", "whole")
    with pytest.raises(_Stopped):
        run("stopped", "broken", _FragileChannel(6, tmp_path / "mirror" / "broken"))

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("a resumed run has its pairs already")

    monkeypatch.setattr(dpo, "preferred", never)
    resumed = run("resumed", "broken")
    for name in ("training.json", "adapter/adapter_model.safetensors", "adapter/adapter_config.json"):
        assert (resumed / name).read_bytes() == (whole / name).read_bytes(), name
    summary = json.loads((whole / "training.json").read_text(encoding="utf-8"))
    assert summary["steps"] == 6
    assert summary["pairs"].keys() == {"push", "sentiment"}
    # In the second epoch, whose order a resumed run must not draw from the first one's generator.
    assert 4 < sum(summary["pairs"].values()) < 4 * 6
    assert [entry["step"] for entry in summary["validation"]] == [0, 2, 4, 6]
    assert len(summary["log"]) == 6
