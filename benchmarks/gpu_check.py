"""Whether a card trains the recipe of `l4`: memory, speed with each backend, and the same loss from all of them.

A model of Tucano2-0.5B's exact shape with random weights takes 20 steps at the recipe's batch, every prompt at its
longest; it hardly ever ends a turn, so that its completions are as long as is allowed too. Each backend that can be
imported trains in a process of its own, for Unsloth changes TRL, and vLLM never gives its memory back. Before they
train, all compute the loss of one fixed batch. Limits: 24 GB on the card; losses of NF4 within 5 % of each other.
"""

import argparse
import importlib.util
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from schemas.profiles import load_config
from schemas.prompts import PromptRow, content_id
from schemas.train_config import TrainConfig
from tasks.commerce.sandbox import Databases
from tasks.train.backend import load_trainable
from tasks.train.estimate import KNOWN_SHAPES, DecoderShape
from tasks.train.recipe import grpo_arguments
from tasks.train.rewards import ComponentRewards

PROFILE: Final = "l4"
STEPS: Final = 20
SEED: Final = 7
MAX_GIGABYTES: Final = 24
MAX_APART: Final = 0.05
"""Largest difference of two backends' losses, as a share of the first."""
PROMPTS: Final = 8
BATCH: Final = (4, 48, 32)
"""Sequences, prompt tokens and completion tokens of the batch whose loss is compared."""
CHAT_TOKENS: Final = 64
"""More than what the chat template puts around a prompt."""
WORDS: Final = "O pedido chegou com atraso, mas o produto é ótimo e o vendedor respondeu no mesmo dia. "
PLANS: Final[Mapping[str, Mapping[str, Any]]] = {
    "transformers": {"backend": "transformers", "load_in_4bit": True, "vllm": {"enabled": False}},
    "Unsloth": {"backend": "unsloth", "load_in_4bit": True, "vllm": {"enabled": False}},
    "transformers + vLLM": {"backend": "transformers", "load_in_4bit": False, "vllm": {"enabled": True}},
    "Unsloth + vLLM": {"backend": "unsloth", "load_in_4bit": True, "vllm": {"enabled": True}},
}


@dataclass(frozen=True)
class Figures:
    """What a backend did."""

    loss: float
    """Of the fixed batch."""
    seconds_a_step: float
    sampled_a_second: float
    """Tokens of completions, by the time of sampling alone."""
    gigabytes: float | None
    """What the process holds of the card when it has trained: what torch and vLLM once took, they keep."""


def main() -> int:
    """Measure each backend, print the table, and return 1 if a limit is missed or a backend fails, 2 without a GPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plan", choices=PLANS, help="measure one backend in this process, and print it as JSON")
    parser.add_argument("--base", type=Path, help="folder of the model that --plan measures")
    options = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        Console(stderr=True).print("there is no GPU here, so nothing was checked; run it on the machine that trains")
        return 2
    if options.plan:
        _, total = torch.cuda.mem_get_info()
        recipe = planned(load_config(PROFILE).train, options.plan, STEPS, card_gigabytes=total / 1e9)
        with tempfile.TemporaryDirectory() as work:
            figures = measure(options.base, recipe, load_config(PROFILE).curate.max_prompt_tokens, Path(work))
        print(json.dumps(asdict(figures)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "base"
        write_base(KNOWN_SHAPES[load_config(PROFILE).policy.name], base)
        measured, failed = _measure_all(base)
    _print(measured, torch.cuda.get_device_name())
    misses = [*failed, *_misses(measured)]
    for miss in misses:
        print(f"missed: {miss}")
    return 1 if misses else 0


def write_base(shape: DecoderShape, folder: Path) -> None:
    """Write a model of this shape with random weights, and a small tokenizer with the chat template."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    from tasks.policy.stand_in import build_tokenizer

    tokenizer = build_tokenizer([WORDS] * 20, 512)
    config = Qwen3Config(
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        intermediate_size=shape.feed_forward,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_value_heads,
        head_dim=shape.head_size,
        max_position_embeddings=4096,
        tie_word_embeddings=shape.tied,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    with torch.random.fork_rng():
        torch.manual_seed(SEED)
        model = Qwen3ForCausalLM(config)
    if model.num_parameters() != shape.parameters:
        raise AssertionError(f"the model has {model.num_parameters():,} weights, and its shape {shape.parameters:,}")
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def planned(recipe: TrainConfig, plan: str, steps: int, *, card_gigabytes: float = MAX_GIGABYTES) -> TrainConfig:
    """Return the recipe with a plan's backend, for so many steps without a checkpoint among them.

    On a card with more than 24 GB, vLLM gets as much of it as it would get of 24.
    """
    vllm = {"memory_share": recipe.vllm.memory_share * min(1.0, MAX_GIGABYTES / card_gigabytes)}
    settings = {**PLANS[plan], "vllm": {**vllm, **PLANS[plan]["vllm"]}}
    return TrainConfig.model_validate({**recipe.model_dump(), **settings, "max_steps": steps, "save_every": 1000})


def measure(base: Path, recipe: TrainConfig, prompt_tokens: int, work: Path) -> Figures:
    """Train as the trainer's child does, on prompts of the greatest length.

    Args:
        base: Folder of the model.
        recipe: What to train, and how long.
        prompt_tokens: Tokens of a prompt with its chat template.
        work: Folder that the Trainer may write to.
    """
    import torch

    trainable = load_trainable(base, recipe, seed=SEED, max_prompt_tokens=prompt_tokens)

    # Only now: Unsloth has to come first.
    from trl import GRPOConfig

    from tasks.train.trainer import PolicyTrainer

    on_gpu = torch.cuda.is_available()
    rows = _prompts(trainable.tokenizer, prompt_tokens)
    rewards = ComponentRewards(Databases(()), "grounded", recipe.content_threshold)
    arguments = grpo_arguments(recipe, weights=rewards.weights, prompts=len(rows), seed=SEED, work=work, on_gpu=on_gpu)
    trainer = PolicyTrainer(
        recipe,
        rows,
        rewards,
        model=trainable.model,
        args=GRPOConfig(**arguments),
        processing_class=trainable.tokenizer,
        peft_config=trainable.lora,
    )
    loss = fixed_loss(trainer)
    trainer.train()
    log = [entry for entry in trainer.state.log_history if "loss" in entry]
    gigabytes = None
    if on_gpu:
        free, total = torch.cuda.mem_get_info()
        gigabytes = (total - free) / 1e9
    # The first step also compiles and warms up.
    return Figures(loss, _mean(log[1:], "step_time"), _mean(log[1:], "sampling/tokens_per_second"), gigabytes)


def fixed_loss(trainer: Any) -> float:
    """Return the loss of a batch that depends on nothing but the vocabulary.

    The policy that sampled it is said to have been uniform: with a policy's own probabilities all ratios are 1, and
    the loss would not depend on the model.
    """
    import torch

    sequences, prompt, completion = BATCH
    vocabulary = len(trainer.processing_class)
    generator = torch.Generator().manual_seed(SEED)
    # The first three tokens are those of the chat template, padding among them.
    ids = torch.randint(3, vocabulary, (sequences, prompt + completion), generator=generator)
    uniform = torch.full((sequences, completion), -math.log(trainer.model.config.vocab_size))
    batch = {
        "prompt_ids": ids[:, :prompt],
        "prompt_mask": torch.ones(sequences, prompt, dtype=torch.long),
        "completion_ids": ids[:, prompt:],
        "completion_mask": torch.ones(sequences, completion, dtype=torch.long),
        "advantages": torch.linspace(1.0, -0.5, sequences),
        "old_per_token_logps": uniform,
        # What vLLM would add: the same probabilities, and so no correction.
        "sampling_per_token_logps": uniform,
        "importance_sampling_ratio": torch.ones(sequences, completion),
        "num_items_in_batch": torch.tensor(float(sequences * completion)),
    }
    # What the training loop sets, and sets anew when it begins.
    trainer.current_gradient_accumulation_steps = 1
    trainer.model.train()
    loss = trainer.compute_loss(
        trainer.model, {name: values.to(trainer.accelerator.device) for name, values in batch.items()}
    )
    return float(loss.detach())


def _prompts(tokenizer: Any, tokens: int) -> list[PromptRow]:
    ids = tokenizer.encode(WORDS * tokens)
    rows = []
    for number in range(PROMPTS):
        prompt = f"{number} {tokenizer.decode(ids[: max(1, tokens - CHAT_TOKENS)])}"
        reference = {"product": "livro", "offer": "frete grátis"}
        identity = content_id("push", "Responda.", prompt, reference)
        rows.append(PromptRow(identity, "push", "Responda.", prompt, reference, "simulated", f"c{number}", None, None))
    return rows


def _mean(log: Sequence[Mapping[str, float]], name: str) -> float:
    return sum(entry[name] for entry in log) / len(log)


def _measure_all(base: Path) -> tuple[dict[str, Figures], list[str]]:
    """Measure each plan whose libraries are there; the others are named in the table by their absence."""
    measured, failed = {}, []
    for plan, settings in PLANS.items():
        needs = ["unsloth"] * (settings["backend"] == "unsloth") + ["vllm"] * settings["vllm"]["enabled"]
        if missing := [name for name in needs if importlib.util.find_spec(name) is None]:
            Console(stderr=True).print(f"{plan}: left out, {' and '.join(missing)} cannot be imported")
            continue
        command = [sys.executable, "-m", "benchmarks.gpu_check", "--plan", plan, "--base", str(base)]
        child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if child.returncode:
            failed.append(f"{plan} ended with exit code {child.returncode}; what it said is above")
        else:
            # Libraries print as well; the figures come last.
            measured[plan] = Figures(**json.loads(child.stdout.splitlines()[-1]))
    return measured, failed


def _print(measured: Mapping[str, Figures], card: str) -> None:
    table = Table(title=f"{STEPS} steps of the recipe `{PROFILE}` on {card}", title_justify="left")
    for name in ("backend", "s a step", "tokens/s sampled", "GB on the card", "loss of the fixed batch"):
        table.add_column(name, justify="left" if name == "backend" else "right")
    for plan, figures in measured.items():
        table.add_row(
            plan,
            f"{figures.seconds_a_step:.2f}",
            f"{figures.sampled_a_second:,.0f}",
            "-" if figures.gigabytes is None else f"{figures.gigabytes:.1f}",
            f"{figures.loss:+.5f}",
        )
    Console(width=100).print(table)


def _misses(measured: Mapping[str, Figures]) -> list[str]:
    misses = [
        f"{plan} holds {figures.gigabytes:.1f} GB, limit {MAX_GIGABYTES}"
        for plan, figures in measured.items()
        if figures.gigabytes is not None and figures.gigabytes > MAX_GIGABYTES
    ]
    quantized = {plan: figures.loss for plan, figures in measured.items() if PLANS[plan]["load_in_4bit"]}
    for plan, loss in quantized.items():
        first = next(iter(quantized.values()))
        if not abs(loss - first) <= MAX_APART * abs(first):
            misses.append(f"{plan} has a loss of {loss:+.5f} where {next(iter(quantized))} has {first:+.5f}")
    return misses


if __name__ == "__main__":
    sys.exit(main())
