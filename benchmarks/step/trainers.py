"""Two trainers in one process, ours first; stock's completions are as long as ours were."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

import torch
from transformers import LogitsProcessor, LogitsProcessorList, TrainerCallback

from benchmarks.training.trainers import named, policy_trainer, stock_trainer
from schemas.config.config import Config
from schemas.store.store import Store
from schemas.tables.prompts import PromptRow
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.checkpoint_manager import CheckpointManager
from tasks.checkpoints.lease import Lease
from tasks.checkpoints.local import LocalCheckpoints
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.child import Channel
from tasks.train.grpo.rollout_log import ROLLOUTS_FOLDER, RolloutLog
from tasks.train.prompt_source import PromptSource
from tasks.train.resume.adapter_files import adapter_weights
from tasks.train.resume.preemption import Preemption
from tasks.train.watch.alarms import Alarms
from tasks.train.watch.callbacks import AlarmWatch, Checkpointer
from tasks.train.watch.reporter import StepReporter
from tasks.train.watch.validation import Selection

SEED: Final = 1
TRAINING: Final = "benchmark"
BASE: Final = "0" * 64
WARM_UP: Final = 3
"""Warm-up steps of each that do not count."""
PARTS: Final = ("generation", "reward")


@dataclass
class Times:
    """Step times of one trainer, in seconds."""

    wall: list[float] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=dict)
    """Parts of a step by the clock."""
    tokens: list[int] = field(default_factory=list)
    """Tokens that were sampled."""

    def without_warm_up(self) -> "Times":
        """Return the steps that count, with the update as a part: all but generation and rewards."""
        wall, parts = self.wall[WARM_UP:], {name: seconds[WARM_UP:] for name, seconds in self.parts.items()}
        update = [whole - sum(each) for whole, *each in zip(wall, *parts.values(), strict=True)]
        return Times(wall, {**parts, "update": update}, self.tokens[WARM_UP:])


class EndsAt(LogitsProcessor):  # type: ignore[misc]
    """Makes each completion of a batch end at its length: its end is forbidden before, and certain then."""

    def __init__(self, lengths: Sequence[int], end: int) -> None:
        """Begin a batch."""
        self._lengths = torch.tensor(lengths)
        self._end = end
        self._drawn = 0

    def __call__(self, _: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores of the next tokens, (rows, vocabulary)."""
        self._drawn += 1
        over = self._drawn >= self._lengths
        scores[~over, self._end] = float("-inf")
        scores[over] = float("-inf")
        scores[over, self._end] = 0.0
        return scores


class _Timer(TrainerCallback):  # type: ignore[misc]
    """Records the time from the beginning of each step to that of the next one."""

    def __init__(self, times: Times) -> None:
        self._times = times
        self._started: float | None = None

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self.on_train_end()
        self._started = time.perf_counter()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        if self._started is not None:
            self._times.wall.append(time.perf_counter() - self._started)


@dataclass(frozen=True)
class Inputs:
    """Model and prompts of a training."""

    store: Store
    rows: Sequence[PromptRow]
    tokenizer: Any
    model: Callable[[], Any]
    """Makes the base, for one trainer."""


def train_both(config: Config, folder: Path, inputs: Inputs, channel: Channel) -> list[Times]:
    """Train ours and then stock, and return the times of both."""
    times = [Times(), Times()]
    lengths: deque[list[int]] = deque()
    with _kept(config, folder) as keeper:
        trainer = _ours(config, folder, channel, inputs, keeper)
        sample = trainer.rollout_generator.sample

        def sampled(*arguments: Any) -> Any:
            rollouts = sample(*arguments)
            lengths.append([len(rollout.completion_ids) for rollout in rollouts.rollouts])
            return rollouts

        trainer.rollout_generator.sample = sampled
        trainer.add_callback(_Timer(times[0]))
        trainer.train()
    steps = [entry for entry in trainer.state.log_history if "step_time" in entry]
    times[0].parts = {name: [entry[f"seconds/{name}"] for entry in steps] for name in PARTS}

    stock = _stock(config, folder, inputs)
    times[1].parts = dict(zip(PARTS, _timed(stock, "_generate_single_turn", "_calculate_rewards"), strict=True))
    _end_alike(stock, lengths, times)
    stock.add_callback(_Timer(times[1]))
    stock.train()
    return [each.without_warm_up() for each in times]


def _ours(config: Config, folder: Path, channel: Channel, inputs: Inputs, keeper: CheckpointManager) -> Any:
    """Return our trainer, watched and kept as in the pipeline; it is never validated."""
    recipe = config.train
    rollouts = RolloutLog(folder / ROLLOUTS_FOLDER, SEED)
    alarms = Alarms(recipe.alarms, recipe.iterations)
    unasked = partial(_trouble, sentence="validated, though nothing here asks for it")
    selection = Selection(unasked, every=recipe.max_steps, patience=recipe.max_steps)
    trainer = policy_trainer(
        recipe,
        inputs.rows,
        Databases.from_store(inputs.store),
        SEED,
        folder / "ours",
        named(inputs.model(), inputs.tokenizer, recipe),
        on_rollouts=rollouts.add,
        callbacks=[
            AlarmWatch(alarms, selection, channel),
            StepReporter(channel, recipe.max_steps, recipe.price_per_hour),
        ],
    )
    # Every training has a best adapter, except at its very beginning.
    weights = adapter_weights(trainer.model)
    selection.load_state_dict({"history": [], "best": None, "best_weights": weights, "since_best": 0})
    parts = {"selection": selection, "alarms": alarms, "sampling": trainer, ROLLOUTS_FOLDER: rollouts}
    checkpointer = Checkpointer(trainer, parts, selection, keeper, Preemption(recipe.preemption.seconds), recipe)
    trainer.add_callback(checkpointer)
    return trainer


@contextmanager
def _kept(config: Config, folder: Path) -> Iterator[CheckpointManager]:
    """Keep checkpoints under a lease until the block ends."""
    mirror = open_mirror(str(folder / "mirror"), TRAINING)
    lease = Lease.acquire(mirror.store, mirror.root, seconds=config.train.preemption.lease_seconds)
    lease.start()
    local = LocalCheckpoints(folder / "checkpoints", TRAINING, BASE)
    keeper = CheckpointManager(local, mirror, lease, config.train.keep_checkpoints, trouble=_trouble)
    try:
        yield keeper
        keeper.flush()
    finally:
        keeper.close()
        lease.release()


def _trouble(step: int, sentence: str) -> NoReturn:
    raise AssertionError(f"step {step}: {sentence}")


def _stock(config: Config, folder: Path, inputs: Inputs) -> Any:
    """Return TRL's trainer, with the prompts of each step in the order in which ours draws them."""
    recipe = config.train
    source = PromptSource(inputs.rows, SEED)
    rows = [row for _ in range(recipe.max_steps) for row in source.draw(recipe.prompts_per_step)]
    arguments = named(inputs.model(), inputs.tokenizer, recipe)
    databases = Databases.from_store(inputs.store)
    return stock_trainer(recipe, rows, databases, SEED, folder / "stock", arguments, shuffle_dataset=False)


def _end_alike(trainer: Any, lengths: deque[list[int]], times: Sequence[Times]) -> None:
    """Make a trainer's completions as long as those that the other one drew for the same step."""
    model = trainer.accelerator.unwrap_model(trainer.model_wrapped)
    generate, (end,) = model.generate, set(trainer.eos_token_ids)

    def generated(*arguments: Any, **others: Any) -> torch.Tensor:
        wanted = lengths.popleft()
        ids: torch.Tensor = generate(*arguments, **others, logits_processor=LogitsProcessorList([EndsAt(wanted, end)]))
        completions = ids[:, others["input_ids"].shape[1] :]
        found = [row.index(end) + 1 if end in row else len(row) for row in completions.tolist()]
        if found != wanted:
            raise AssertionError(f"completions of {found} tokens, where {wanted} were asked for")
        for each in times:
            each.tokens.append(sum(wanted))
        return ids

    model.generate = generated


def _timed(trainer: Any, *methods: str) -> list[list[float]]:
    """Make some methods of a trainer record their durations."""
    seconds: list[list[float]] = [[] for _ in methods]

    def timing(method: Callable[..., Any], into: list[float]) -> Callable[..., Any]:
        def timed(*arguments: Any, **others: Any) -> Any:
            started = time.perf_counter()
            result = method(*arguments, **others)
            into.append(time.perf_counter() - started)
            return result

        return timed

    for name, into in zip(methods, seconds, strict=True):
        setattr(trainer, name, timing(getattr(trainer, name), into))
    return seconds
