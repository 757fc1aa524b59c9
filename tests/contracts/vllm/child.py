"""The train stage's GRPO child with real vLLM on a CPU, where four things of the card are replaced, all of the device.

vLLM's build for CPUs compiles the model (minutes, for nothing that is looked at here), packs weights so that none can
be loaded again, takes bfloat16 where the trainer has float32, and ignores that it is put to sleep. So it runs eagerly,
with its weights as they are, in float32; and what sleep of level 2 frees on a card is overwritten here: a weight that
the trainer does not hand over again is not a number.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tasks.policy.child import Channel, as_child
from tasks.train.children import grpo
from tasks.train.stage import StartedTraining, TrainingInputs, train

FOUND_FILE: Final = "contract.json"
"""In the policy's folder: what only the child can see."""


def main(request_file: Path, channel: Channel) -> None:
    """Train by GRPO what the request asks for, and write what became of the base beside the policy."""
    calls = dict.fromkeys(("sleep", "wake_up", "load_weights"), 0)

    def start(inputs: TrainingInputs) -> StartedTraining:
        _use_colocated_vllm_on_a_cpu(calls)
        import torch

        started = grpo.start(inputs)
        seed = torch.initial_seed()

        def write(folder: Path) -> None:
            started.write(folder)
            found = {"seed": seed, "calls": calls, **_base_against_file(started.trainer.model, inputs.request.base)}
            (folder / FOUND_FILE).write_text(json.dumps(found), encoding="utf-8")

        return replace(started, write=write)

    train(request_file, channel, start)


def _use_colocated_vllm_on_a_cpu(calls: dict[str, int]) -> None:
    import torch
    from trl.generation import vllm_generation
    from vllm import LLM, _custom_ops

    # Nothing is packed: `load_weights` finds each weight where it was.
    vars(_custom_ops)["_supports_onednn"] = False

    class LLMOnCPU(LLM):  # type: ignore[misc]
        def __init__(self, *, enable_sleep_mode: bool, **named: Any) -> None:
            assert enable_sleep_mode, "the recipe's sleep did not reach vLLM"
            super().__init__(dtype="float32", enforce_eager=True, **named)
            self._policy().load_weights = _counted(calls, "load_weights", self._policy().load_weights)

        def _policy(self) -> Any:
            return self.llm_engine.model_executor.driver_worker.model_runner.model

        def sleep(self, level: int = 1, **named: Any) -> None:
            assert level == 2
            calls["sleep"] += 1
            super().sleep(level, **named)
            for parameter in self._policy().parameters():
                parameter.data.fill_(torch.nan)

        def wake_up(self, tags: list[str] | None = None) -> None:
            calls["wake_up"] += 1
            super().wake_up(tags)

    vars(vllm_generation)["LLM"] = LLMOnCPU


def _counted(calls: dict[str, int], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*arguments: Any, **named: Any) -> Any:
        calls[name] += 1
        return function(*arguments, **named)

    return counted


def _base_against_file(model: Any, base: Path) -> Mapping[str, int]:
    """Count the base's tensors in a trained policy, and those that are no longer what its folder holds."""
    import torch
    from transformers import AutoModelForCausalLM

    written = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32).state_dict()
    frozen = {
        name.removeprefix("base_model.model.").replace(".base_layer", ""): value
        for name, value in model.state_dict().items()
        if "lora_" not in name
    }
    assert set(frozen) == set(written)
    changed = sum(not torch.equal(value, written[name]) for name, value in frozen.items())
    # Embeddings are tied: the state has them under two names, and they are one parameter.
    loaded = sum("lora_" not in name for name, _ in model.named_parameters())
    return {"base_tensors": len(frozen), "base_tensors_changed": changed, "policy_tensors": loaded}


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
