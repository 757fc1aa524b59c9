"""The first steps of many recipes, by the trainer of one backend, as JSON: a process of its own for each backend.

Unsloth replaces TRL's trainers when it is imported, so that one process has only one of them.
"""

import io
import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from schemas.config.train import TrainConfig
from schemas.tables.prompts import PromptRow
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.child import Channel
from tasks.train.backend.trainable import LINEAR_LAYERS, Trainable, load_trainable
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.request import TrainRequest
from tasks.train.stage import TrainingInputs
from tests.contracts.unsloth.inputs import vary_rewards
from tests.contracts.unsloth.on_cpu import put_on_adapter, use_unsloth_on_cpu
from tests.tasks.train.small_training import prompt_rows

PLAIN = "the recipe"
RECIPES: dict[str, dict[str, Any]] = {
    PLAIN: {},
    "accumulation": {"accumulation": 4},
    "NF4": {"load_in_4bit": True},
    "loss grpo": {"loss": "grpo"},
    "loss bnpo": {"loss": "bnpo"},
    "loss dapo": {"loss": "dapo", "accumulation": 2},
    "KL penalty": {"beta": 0.05, "iterations": 2},
    "iterations": {"iterations": 2, "accumulation": 2},
    "truncated masked": {"mask_truncated": True},
    "fixed entropy bonus": {"entropy": {"coefficient": 0.05}},
    "rewards scaled by group": {"scale_rewards": "group", "aggregation": "sum_then_normalize", "loss": "grpo"},
    "rewards scaled by batch": {"scale_rewards": "batch", "aggregation": "sum_then_normalize"},
    "task weights in the loss": {"task_weights": {"applies_to": "loss", "every": 1}},
    "task weights in the sampler": {"task_weights": {"applies_to": "sampler", "every": 1, "rate": 3.0}},
    "dynamic sampling": {"dynamic_sampling": {"extra_groups": 2, "min_spread": 0.14}},
    "guided correction": {"guided_correction": {"share": 1.0, "threshold": 1.0}, "max_completion_tokens": 24},
}
"""Every switch that `TrainConfig` allows with Unsloth."""
STEPS = 2
"""Of each: some switches act from the second step on."""
FIGURES = ("loss", "grad_norm", "kl", "completions/mean_length", "completions/clipped_ratio", "reward")


def main(name: str, request_file: Path, output: Path, only: str = "") -> None:
    """Take the first steps of all recipes, or of one, by one backend, and write what was logged of them."""
    if name == "unsloth":
        use_unsloth_on_cpu()
    vary_rewards()
    request = TrainRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    found = {
        recipe: _first_steps(_trainer(name, request, settings, output.parent / "work"))
        for recipe, settings in RECIPES.items()
        if only in {"", recipe}
    }
    output.write_text(json.dumps(found), encoding="utf-8")


def _first_steps(trainer: Any) -> dict[str, Any]:
    # Unsloth masks a sampled padding token wherever it is, and TRL counts it.
    trainer.generation_config.suppress_tokens = [trainer.processing_class.pad_token_id]
    arguments = {field.name: repr(getattr(trainer.args, field.name)) for field in fields(trainer.args)}
    trainer.train()
    log = [entry for entry in trainer.state.log_history if "loss" in entry]
    return {
        "padding": trainer.processing_class.padding_side,
        "trainer": [of.__name__ for of in type(trainer).__mro__],
        "arguments": arguments,
        "steps": [{figure: entry[figure] for figure in FIGURES if figure in entry} for entry in log],
        "figures": sorted(set().union(*log)),
    }


def _trainer(name: str, request: TrainRequest, settings: dict[str, Any], work: Path) -> Any:
    # Stock generation, which can be forbidden the padding token, and passes shuffled as Unsloth's.
    fixed = {"backend": name, "max_steps": STEPS, "stock_generation": True, "stock_update": True}
    config = TrainConfig.model_validate({**request.config.model_dump(), **fixed, **settings})
    request = request.model_copy(update={"config": config})
    # That Unsloth is imported first is seen to where the child imports it, once.
    trainable = load_trainable(request.base, config, seed=request.seed, max_prompt_tokens=200, work=work)
    if trainable.lora is not None:
        # TRL would put it on with other first weights than Unsloth.
        trainable.lora.target_modules = set(LINEAR_LAYERS)
        trainable = Trainable(
            put_on_adapter(trainable.model, trainable.lora, request.seed), trainable.tokenizer, lora=None
        )
    from tasks.train.children.grpo import start

    rows: list[PromptRow] = prompt_rows()
    rewards = ComponentRewards(Databases(()), request.spec)
    inputs = TrainingInputs(request, rows, trainable, rewards, work, False, None, Channel(io.StringIO()))
    return start(inputs).trainer


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:])
