"""Arms of the training benchmark, and the training of one of them with one seed."""

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from benchmarks.training.trainers import named, policy_trainer, stock_trainer
from schemas.config.config import Config
from schemas.config.train import TrainConfig
from schemas.config.train_sections import PolicyConfig, WarmStartConfig
from schemas.progress import silent
from schemas.tables.prompts import TRAIN_FILE, PromptRow, read_prompts
from schemas.tasks import TaskName
from tasks.commerce import registry
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.curate import stage as curate
from tasks.curate.processes import in_processes
from tasks.evaluate.ground_truth import truth_of
from tasks.policy.child import run_child
from tasks.policy.generate import as_messages, generate, generate_samples
from tasks.synthesize import stage as synthesize
from tasks.train.prompt_source import PromptSource
from tasks.train.sft.warm_start import WarmStartRequest, demonstration, demonstrations_for, sft_trainer

Arm = Literal["sft", "sft again", "rft", "stock", "ours"]
ARMS: Final[tuple[Arm, ...]] = get_args(Arm)
ONE_THREAD: Final = {
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "POLARS_MAX_THREADS": "1",
    # The laptop's training is measured, even where there is a GPU.
    "CUDA_VISIBLE_DEVICES": "",
}


@dataclass(frozen=True)
class Job:
    """One training, and the measurements of it."""

    arm: str  # An `Arm`, or another benchmark's.
    seed: int
    """Seed of the warm start, the adapter's first weights, the order of the prompts and every sampled token."""
    recipe: TrainConfig
    again: WarmStartConfig  # The recipe of a further fine-tuning.
    temperature: float  # Of the answers on validation and test.
    batch_size: int
    setup: Path
    """Folder with the prompts, the dataset and, as `base-SEED`, the models after their warm starts."""

    @property
    def base(self) -> Path:
        """Return the folder of the model that all arms of a seed begin with."""
        return self.setup / f"base-{self.seed}"

    @property
    def adapter(self) -> Path:
        """Return the folder of the adapter that validated best; `sft` has none."""
        return self.setup / f"{self.arm}-{self.seed}"


@dataclass(frozen=True)
class Scored:
    """One answer on the test split: its reward and its ground truth in [0, 1]."""

    task: TaskName
    reward: float
    truth: float


@dataclass(frozen=True)
class Outcome:
    """Results of one training."""

    seconds: float
    """Time of the training with its validations, on one thread."""
    tokens: int
    """Tokens that were sampled to learn from."""
    curve: dict[int, float]
    """Mean reward on validation, by step."""
    test: dict[str, Scored]
    """By prompt."""


def make_dataset(config: Config, setup: Path) -> None:
    """Empty the folder, and make the prompts and the dataset in it."""
    shutil.rmtree(setup, ignore_errors=True)
    for name in ("prompts", "dataset"):
        (setup / name).mkdir(parents=True)
    synthesize.run(config.synthesize, config.seed, setup / "prompts", silent)
    curate.run(config.curate, config.policy, setup / "prompts", setup / "dataset", silent, in_processes(1))


def warm_start(config: Config, setup: Path, seed: int) -> None:
    """Make the model that all arms of a seed begin with; spawned processes import it by its name."""
    output = setup / f"base-{seed}"
    output.mkdir()
    request = WarmStartRequest(
        policy=config.policy, warm_start=config.warm_start, seed=seed, dataset=setup / "dataset", output=output
    )
    run_child(
        "tasks.train.sft.warm_start", request, setup / f"work-{seed}", interpreter=None, threads=1, progress=silent
    )


MakeTrainer = Callable[[Job, Sequence[PromptRow], Databases, Any, Path], tuple[Any, Callable[[], int]]]
"""Returns a trainer on the prompts, and what counts the tokens that it has sampled; the last is an empty folder."""


def outcome_of(job: Job, make_trainer: MakeTrainer | None = None) -> Outcome:
    """Return the outcome of a training; its log is beside the models."""
    with job.adapter.with_suffix(".log").open("w") as log, redirect_stdout(log), redirect_stderr(log):
        return run(job, make_trainer or _trainer)


def run(job: Job, make_trainer: MakeTrainer) -> Outcome:
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
    tokenizer = load_tokenizer(job.base)

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
            guided=job.recipe.guided,
        )

    if job.arm == "sft":
        policy = load_policy(job.base, None, four_bit=False)
        return Outcome(0.0, 0, {}, _answer_test(job, policy, tokenizer, databases))
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        # Early stopping is not compared: every curve goes to the last step.
        selection = Selection(score, every=job.recipe.evaluate_every, patience=job.recipe.max_steps + job.again.steps)
        trainer, tokens = make_trainer(job, rows, databases, tokenizer, Path(folder))
        trainer.add_callback(selection)
        trainer.train()
        seconds = time.perf_counter() - started
        selection.write_best(job.adapter, adapter_config(trainer.model))
        policy = load_policy(job.base, job.adapter, four_bit=False)
        curve = {each.step: each.mean_reward for each in selection.history}
        return Outcome(seconds, tokens(), curve, _answer_test(job, policy, tokenizer, databases))


def _answer_test(job: Job, policy: Any, tokenizer: Any, databases: Databases) -> dict[str, Scored]:
    """Answer as the pipeline's evaluation does: guided as the answers are served."""
    rows = read_prompts(job.setup / "dataset" / "data" / "test.parquet")
    completions = generate(
        policy,
        tokenizer,
        [as_messages(row.system, row.prompt) for row in rows],
        temperature=job.temperature,
        max_tokens=job.recipe.max_completion_tokens,
        batch_size=job.batch_size,
        seed=job.seed,
        grammars=[registry.grammar_of(row.task, row.prompt, registry.SERVED) for row in rows],
    )
    rollouts = [completion.as_rollout(row) for row, completion in zip(rows, completions, strict=True)]
    scored = registry.score_beside([registry.score_rollout(rollout, databases) for rollout in rollouts])
    return {
        each.prompt_id: Scored(task=each.task, reward=each.reward, truth=truth_of(rollout, databases) or 0.0)
        for each, rollout in zip(scored, rollouts, strict=True)
    }


def _trainer(
    job: Job, rows: Sequence[PromptRow], databases: Databases, tokenizer: Any, work: Path
) -> tuple[Any, Callable[[], int]]:
    """Return an arm's trainer, and what counts the tokens that it has sampled."""
    if job.arm in ("ours", "stock"):
        return _grpo(job, rows, databases, tokenizer, work)
    request = WarmStartRequest(
        policy=PolicyConfig(name=str(job.base)),
        warm_start=job.again,
        seed=job.seed,
        dataset=job.setup / "dataset",
        output=work,
    )
    if job.arm == "sft again":
        shown, _ = demonstrations_for(request)
        return sft_trainer(request, tokenizer, shown, work, ()), lambda: 0
    shown, tokens = _own_best(job, rows, databases, tokenizer)
    return sft_trainer(request, tokenizer, shown, work, ()), lambda: tokens


def _grpo(
    job: Job, rows: Sequence[PromptRow], databases: Databases, tokenizer: Any, work: Path
) -> tuple[Any, Callable[[], int]]:
    from tasks.policy.load import load_base

    of_all = named(load_base(job.base, four_bit=job.recipe.load_in_4bit), tokenizer, job.recipe)
    if job.arm == "ours":
        sampled: list[int] = []

        def count(_: int, rollouts: Sequence[Any], __: Any) -> None:
            sampled.append(sum(len(rollout.completion_ids) for rollout in rollouts))

        trainer = policy_trainer(job.recipe, rows, databases, job.seed, work, of_all, on_rollouts=count)
        return trainer, lambda: sum(sampled)
    recipe = job.recipe
    stock = stock_trainer(recipe, rows, databases, job.seed, work, of_all, learning_rate=recipe.learning_rate)

    def counted() -> int:
        lengths: list[float] = [each["completions/mean_length"] for each in stock.state.log_history if "reward" in each]
        return round(sum(lengths) * recipe.completions_per_step)

    return stock, counted


def _own_best(
    job: Job, rows: Sequence[PromptRow], databases: Databases, tokenizer: Any
) -> tuple[list[dict[str, Any]], int]:
    """Return the best of each group of the model's own answers, and the tokens of all: rejection sampling (RAFT).

    As many groups as GRPO trains on; one whose answers earn the same teaches GRPO nothing, and is left out here too.
    """
    from tasks.policy.load import load_policy

    policy = load_policy(job.base, None, four_bit=job.recipe.load_in_4bit)
    source, shown, tokens = PromptSource(rows, job.seed), [], 0
    for step in range(job.recipe.max_steps):
        drawn = source.draw(job.recipe.prompts_per_step)
        samples = generate_samples(
            policy,
            tokenizer,
            [as_messages(row.system, row.prompt) for row in drawn],
            temperature=job.recipe.temperature,
            max_tokens=job.recipe.max_completion_tokens,
            batch_size=job.batch_size,
            seeds=[(job.seed * 1_000 + step) * 1_000 + number for number in range(job.recipe.generations)],
            grammars=[registry.grammar_of(row.task, row.prompt, job.recipe.guided) for row in drawn],
        )
        answers = [(row, sample[place]) for place, row in enumerate(drawn) for sample in samples]
        tokens += sum(answer.tokens for _, answer in answers)
        scored = registry.score_beside(
            [registry.score_rollout(answer.as_rollout(row), databases) for row, answer in answers]
        )
        for place, row in enumerate(drawn):
            group = scored[place * job.recipe.generations : (place + 1) * job.recipe.generations]
            best = max(group, key=lambda rollout: rollout.reward)
            if best.reward > min(rollout.reward for rollout in group):
                shown.append(demonstration(row.system, row.prompt, best.completion))
    return shown, tokens
