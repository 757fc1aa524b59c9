"""Arms of the training benchmark, and the training of one of them with one seed."""

import hashlib
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from schemas.config.train import TrainConfig
from schemas.documents import Rollout
from schemas.tables.prompts import TRAIN_FILE, PromptRow, read_prompts
from schemas.tasks import TaskName
from tasks.commerce import registry
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.generate import Completion, StopReason, as_messages, generate

STATE: Final = Path(".tucano") / "benchmark-training"
STOCK: Final = "stock"
V4_2: Final = "V4.2"
OURS: Final = "ours"
REPORTED: Final[Mapping[str, Any]] = {
    "aggregation": "normalize_then_sum",
    "scale_rewards": "none",
    "loss": "dr_grpo",
    "schedule": "constant_with_warmup",
    "epsilon_low": 0.2,
    "epsilon_high": 0.2,
    "task_weights": {"applies_to": "loss"},
}
"""The V4.2 report's recipe; its learning rate is for 0.5B parameters, and the profile has the stand-in's."""
GUIDED: Final[Mapping[str, Any]] = {"share": 1.0, "threshold": 1.0}
"""Every group whose best completion is not perfect is shown the reference's answer, four times the paper's
probability."""
TRUTH: Final[Mapping[str, tuple[str, ...]]] = {
    "extraction": ("field_f1",),
    "push": ("suits_the_campaign", "offer_as_it_is", "no_repetition", "within_length"),
    "sentiment": ("accuracy",),
    "churn": ("accuracy",),
}
"""The metrics of each task whose mean over prompts is the ground truth: those that a single answer can satisfy."""


@dataclass(frozen=True)
class Arm:
    """One way of training."""

    changes: Mapping[str, Any] = field(default_factory=dict)
    """Changes of the profile's recipe."""
    trainer: Literal["trl", "policy"] = "policy"
    """TRL's GRPO with the profile's learning rate and all else as it comes, or ours."""


ARMS: Final[Mapping[str, Arm]] = {
    STOCK: Arm(trainer="trl"),
    V4_2: Arm(REPORTED),
    OURS: Arm({**REPORTED, "guided_correction": GUIDED}),
}


class Job(BaseModel):
    """One training, and the measurements of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    arm: str
    """Name of one of `ARMS`."""
    seed: int
    """Seed of the adapter's first weights, the order of the prompts and every sampled token."""
    recipe: TrainConfig
    """The arm's recipe."""
    temperature: float
    """Temperature of the answers on validation and test."""
    batch_size: int
    """Prompts answered at once, in a batch."""
    setup: Path
    """Folder with the prompts, the dataset and the base."""


class Scored(BaseModel):
    """One answer on the test split."""

    task: TaskName
    reward: float
    """In [0, 1]."""
    truth: float
    """Ground truth, in [0, 1]."""


class Point(BaseModel):
    """Validation results after one step."""

    step: int
    reward: float
    """Mean over the tasks."""
    truths: dict[str, float]
    """Ground truth of each task."""


class Outcome(BaseModel):
    """Results of one training."""

    seconds: float
    """Time of the training with its validations, on one thread."""
    curve: list[Point]
    chosen_step: int
    """The step with the best validation reward, whose adapter answers the test split."""
    test: dict[str, Scored]
    """By prompt."""


def recipe_of(arm: str, profile: TrainConfig) -> TrainConfig:
    """Return an arm's recipe: the profile's with the arm's changes."""
    return TrainConfig.model_validate({**profile.model_dump(), **ARMS[arm].changes})


def outcome_of(work: tuple[Job, str]) -> Outcome:
    """Return the outcome of a training, which runs if that code has not run it before."""
    job, code = work
    folder = STATE / "trainings"
    folder.mkdir(exist_ok=True)
    name = digest(job.model_dump_json(), code)
    result, log = folder / f"{name}.json", folder / f"{name}.log"
    if not result.exists():
        with log.open("w", encoding="utf-8") as output, redirect_stdout(output), redirect_stderr(output):
            outcome = run(job)
        draft = result.with_suffix(".draft")
        draft.write_text(outcome.model_dump_json(), encoding="utf-8")
        draft.replace(result)
    return Outcome.model_validate_json(result.read_text(encoding="utf-8"))


def digest(*parts: str) -> str:
    """Return a name for some content."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def run(job: Job) -> Outcome:
    """Train, validate on the way, and answer the test split with the adapter that validated best."""
    import transformers

    from tasks.policy.load import load_policy, load_tokenizer
    from tasks.train.resume.adapter_files import adapter_config
    from tasks.train.watch.alarms import Validation
    from tasks.train.watch.validation import Selection, validate

    transformers.utils.logging.disable_progress_bar()
    databases = Databases.open(job.setup / "prompts" / "store")
    rows = read_prompts(job.setup / "dataset" / TRAIN_FILE)
    validation_rows = read_prompts(job.setup / "dataset" / "data" / "validation.parquet")
    tokenizer = load_tokenizer(job.setup / "base")

    def score(step: int) -> Validation:
        return validate(
            trainer.model,
            tokenizer,
            validation_rows,
            databases,
            "grounded",
            step=step,
            temperature=job.temperature,
            max_tokens=job.recipe.max_completion_tokens,
            batch_size=job.batch_size,
            seed=job.seed,
        )

    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        # Early stopping is not compared: every curve goes to the last step.
        selection = Selection(score, every=job.recipe.evaluate_every, patience=job.recipe.max_steps)
        trainer = _trainer(job, rows, databases, tokenizer, work)
        trainer.add_callback(selection)
        started = time.perf_counter()
        trainer.train()
        seconds = time.perf_counter() - started
        if selection.best is None:
            raise AssertionError("a training ended without one validation, though its last step is always validated")
        selection.write_best(work / "best", adapter_config(trainer.model))
        policy = load_policy(job.setup / "base", work / "best", four_bit=False)
        test = _answer_test(job, policy, tokenizer, databases)
    return Outcome(
        seconds=seconds,
        curve=[
            Point(
                step=each.step,
                reward=each.mean_reward,
                truths={task: _truth(task, metrics) for task, metrics in each.ground_truth.items()},
            )
            for each in selection.history
        ],
        chosen_step=selection.best.step,
        test=test,
    )


def _answer_test(job: Job, policy: Any, tokenizer: Any, databases: Databases) -> dict[str, Scored]:
    rows = read_prompts(job.setup / "dataset" / "data" / "test.parquet")
    completions = generate(
        policy,
        tokenizer,
        [as_messages(row.system, row.prompt) for row in rows],
        temperature=job.temperature,
        max_tokens=job.recipe.max_completion_tokens,
        batch_size=job.batch_size,
        seed=job.seed,
    )
    rollouts = [completion.as_rollout(row) for row, completion in zip(rows, completions, strict=True)]
    return {rollout.prompt_id: _scored(rollout, databases) for rollout in rollouts}


def _scored(rollout: Rollout, databases: Databases) -> Scored:
    metrics = registry.TASKS[rollout.task].metric([rollout], databases)
    reward = registry.score_rollout(rollout, databases).reward
    return Scored(task=rollout.task, reward=reward, truth=_truth(rollout.task, metrics))


def _truth(task: str, metrics: Mapping[str, float]) -> float:
    return fmean(metrics[name] for name in TRUTH[task])


def _trainer(job: Job, rows: Sequence[PromptRow], databases: Databases, tokenizer: Any, work: Path) -> Any:
    from tasks.policy.load import load_base
    from tasks.train.backend.trainable import lora_config

    named = {
        "model": load_base(job.setup / "base", four_bit=False),
        "processing_class": tokenizer,
        "peft_config": lora_config(job.recipe.lora),
    }
    if ARMS[job.arm].trainer == "policy":
        return policy_trainer(job.recipe, rows, databases, job.seed, work, named)
    rate = job.recipe.learning_rate
    return stock_trainer(job.recipe, rows, databases, job.seed, work, named, learning_rate=rate)


def policy_trainer(
    recipe: TrainConfig,
    rows: Sequence[PromptRow],
    databases: Databases,
    seed: int,
    work: Path,
    named: Mapping[str, Any],
    **others: Any,
) -> Any:
    """Return our trainer."""
    from trl import GRPOConfig

    from tasks.train.grpo.recipe import grpo_arguments
    from tasks.train.grpo.rewards import ComponentRewards
    from tasks.train.grpo.trainer import CommerceGRPOTrainer

    rewards = ComponentRewards(databases, "grounded")
    arguments = grpo_arguments(
        recipe, weights=rewards.weights, prompts=len(rows), max_prompt_tokens=200, seed=seed, work=work, on_gpu=False
    )
    return CommerceGRPOTrainer(
        recipe, rows, rewards, args=GRPOConfig(**{**arguments, "save_strategy": "no"}), **named, **others
    )


def stock_trainer(
    recipe: TrainConfig,
    rows: Sequence[PromptRow],
    databases: Databases,
    seed: int,
    work: Path,
    named: Mapping[str, Any],
    **changes: Any,
) -> Any:
    """Return TRL's own trainer with its own defaults, and the total reward as its one reward function.

    Of the recipe it has the shapes alone: steps, prompts and completions a step, and the longest completion.
    """
    from datasets import Dataset
    from trl import GRPOConfig

    from tasks.train.backend.cpu import CpuGRPOTrainer

    def total(completions: list[list[dict[str, str]]], place: list[int], **_: Any) -> list[float]:
        return [
            registry.score_rollout(
                Completion(completion[-1]["content"], 0, StopReason.END_OF_TURN).as_rollout(rows[number]), databases
            ).reward
            for completion, number in zip(completions, place, strict=True)
        ]

    arguments = {
        "output_dir": str(work),
        "seed": seed,
        "max_steps": recipe.max_steps,
        "per_device_train_batch_size": recipe.completions_per_step,
        "num_generations": recipe.generations,
        "max_completion_length": recipe.max_completion_tokens,
        "use_cpu": True,
        # A CPU only emulates bfloat16; and recomputing activations costs time, and changes nothing else.
        "bf16": False,
        "gradient_checkpointing": False,
        "save_strategy": "no",
        "logging_steps": 1,
        "report_to": "none",
        "disable_tqdm": True,
        **changes,
    }
    questions = [{"prompt": as_messages(row.system, row.prompt), "place": place} for place, row in enumerate(rows)]
    return CpuGRPOTrainer(
        reward_funcs=total, train_dataset=Dataset.from_list(questions), args=GRPOConfig(**arguments), **named
    )
