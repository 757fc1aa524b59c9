"""A training from its request to its adapter, whatever the algorithm: audit, preflight, resume, watch, result."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.audit_record import AuditRecord
from schemas.disk import write_whole
from schemas.errors import InputError
from schemas.prompts import PromptRow, read_prompts
from schemas.store_files import read_store
from schemas.train_config import TrainConfig
from tasks.commerce.sandbox import Databases
from tasks.policy.adapters import ADAPTER_FOLDER
from tasks.policy.child import Channel
from tasks.train.audited import require_audit
from tasks.train.departure import Departure
from tasks.train.held_training import HeldTraining, held_training
from tasks.train.out_of_memory import memory_errors_told
from tasks.train.preemption import Preemption
from tasks.train.preflight.check import PREFLIGHT_FILE, as_json, refuse_if_failed
from tasks.train.request import TrainRequest
from tasks.train.summaries import SUMMARY_FILE

if TYPE_CHECKING:
    from tasks.train.alarms import Alarms
    from tasks.train.backend import Trainable
    from tasks.train.rewards import ComponentRewards
    from tasks.train.stateful import Stateful
    from tasks.train.validation import Selection

WORK_FOLDER: Final = "work"
UNMERGED: Final = "set train.export_merged=false and serve the adapter beside its base"
TIMINGS: Final = frozenset({"step_time", "sampling/tokens_per_second"})
"""What the log holds that is not decided by the inputs, beside all `seconds/`; MLflow has it, the artifact has not."""


@dataclass(frozen=True)
class TrainingInputs:
    """What an algorithm makes its trainer of."""

    request: TrainRequest
    rows: Sequence[PromptRow]
    """The training prompts, of the tasks that are trained."""
    trainable: "Trainable"
    rewards: "ComponentRewards"
    work: Path
    """Folder for what the trainer writes while it works."""
    on_gpu: bool
    checkpoint: Path | None
    """The folder that is gone on from; None where training starts."""
    channel: Channel


@dataclass(frozen=True)
class StartedTraining:
    """An algorithm's trainer."""

    trainer: Any
    parts: "Mapping[str, Stateful]"
    """What the algorithm keeps in each checkpoint beside what any Trainer has, by the names of its files."""
    write: Callable[[Path], None]
    """Writes into the policy's folder what is kept with it: all rollouts, or the pairs."""
    summary: Callable[[], Mapping[str, Any]] = dict
    """What it adds to the training's summary."""


def train(request_file: Path, channel: Channel, start: Callable[[TrainingInputs], StartedTraining]) -> None:
    """Train, going on from the newest checkpoint that verifies, and write the chosen adapter.

    Args:
        request_file: A `TrainRequest` as JSON; work is done beside it.
        channel: Told how it goes.
        start: Makes the algorithm's trainer.

    Raises:
        InputError: What was asked for cannot be trained, does not fit into the memory, or was taken over.
        GateRefused: There is no audit of these rewards, a preflight check failed, or an alarm stopped the training.
        Interrupted: The machine is taken away; what was done is mirrored.
    """
    request = TrainRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    rows = _rows_of(request, "train")
    audit = require_audit(request.audit, request.spec, {row.task for row in rows})
    if len(rows) < request.config.prompts_per_step:
        raise InputError(
            f"train.prompts_per_step is {request.config.prompts_per_step}, and there are {len(rows)} training prompts; "
            "lower it, or make more with synthesize.counts"
        )
    preemption = Preemption(request.config.preemption.seconds, request.config.preemption.notice_url)
    preemption.watch()
    departure = Departure(preemption, channel)
    channel.progress(0, request.config.max_steps, "loading torch and TRL")
    with memory_errors_told(request.config), held_training(request, request_file.parent, channel, preemption) as held:
        departure.with_training(held)
        _train(request, rows, audit, request_file.parent / WORK_FOLDER, channel, start, held, departure)


def _rows_of(request: TrainRequest, split: str) -> list[PromptRow]:
    rows = read_prompts(request.dataset / "data" / f"{split}.parquet")
    wanted = [row for row in rows if not request.tasks or row.task in request.tasks]
    if not wanted:
        tasks = f" of {', '.join(request.tasks)}" if request.tasks else ""
        raise InputError(
            f"the {split} split of the dataset in {request.dataset} has no prompts{tasks}; make more with "
            "synthesize.counts"
        )
    return wanted


def _train(
    request: TrainRequest,
    rows: Sequence[PromptRow],
    audit: AuditRecord,
    work: Path,
    channel: Channel,
    start: Callable[[TrainingInputs], StartedTraining],
    held: HeldTraining,
    departure: Departure,
) -> None:
    from tasks.train.backend import load_trainable

    config = request.config
    # Comes before whatever else imports TRL: Unsloth, where it is the backend, must be first.
    trainable = load_trainable(request.base, config, seed=request.seed, max_prompt_tokens=request.max_prompt_tokens)

    import torch
    import transformers

    from tasks.train.alarms import Alarms
    from tasks.train.rewards import ComponentRewards
    from tasks.train.snapshot import TRAINER_STATE_FILE
    from tasks.train.validation import Selection, validate
    from tasks.train.watched import watch

    transformers.utils.logging.disable_progress_bar()
    # On a GPU it would also fill all fresh memory.
    torch.use_deterministic_algorithms(not torch.cuda.is_available(), warn_only=True)
    databases = Databases.from_store(read_store(request.store))
    rewards = ComponentRewards(databases, request.spec, config.content_threshold)
    checkpoint = held.checkpoint
    if checkpoint is not None:
        channel.progress(held.step, config.max_steps, f"resumed at step {held.step}")
    started = start(
        TrainingInputs(request, rows, trainable, rewards, work, torch.cuda.is_available(), checkpoint, channel)
    )
    trainer = started.trainer
    validation_rows = _rows_of(request, "validation")
    selection = Selection(
        lambda step: validate(
            trainer.model,
            trainable.tokenizer,
            validation_rows,
            databases,
            request.spec,
            step=step,
            temperature=request.validation_temperature,
            max_tokens=config.max_completion_tokens,
            batch_size=request.validation_batch_size,
            seed=request.seed,
        ),
        every=config.evaluate_every,
        patience=config.patience,
    )
    alarms = Alarms(config.alarms, config.iterations)
    checkpointer = watch(trainer, started.parts, selection, alarms, held.keeper, departure.preemption, config, channel)
    if checkpoint is not None:
        checkpointer.restore(checkpoint)
        if selection.best is not None:
            held.owe_best(selection.best.step)
    if checkpoint is not None and _is_over(held.step, config, selection, alarms):
        # Nothing is left to train, and the Trainer would take one step more before it noticed.
        state = transformers.TrainerState.load_from_json(str(checkpoint / TRAINER_STATE_FILE))
    else:
        # What goes on has passed it, with the same code, data and recipe; on a Spot machine it would be paid each time.
        if checkpoint is None:
            _check(request, rows, audit, trainable, rewards, trainer, work.parent / PREFLIGHT_FILE, channel)
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        departure.leave_if_asked()
        state = trainer.state
    held.keeper.flush()
    alarms.require_none_stopped(held.newest_step or None)
    held.keeper.pin_newest("final")
    _write_result(request, audit, state, selection, started)


def _is_over(step: int, config: TrainConfig, selection: "Selection", alarms: "Alarms") -> bool:
    return step >= config.max_steps or selection.exhausted or alarms.stopped_by is not None


def _check(
    request: TrainRequest,
    rows: Sequence[PromptRow],
    audit: AuditRecord,
    trainable: "Trainable",
    rewards: "ComponentRewards",
    trainer: Any,
    found: Path,
    channel: Channel,
) -> None:
    """Run the preflight, and write down what it found even where it refuses."""
    from tasks.train.preflight.run import PlannedTraining, preflight

    planned = PlannedTraining(
        trainer=trainer,
        audit=audit,
        spec=request.spec,
        tokenizer=trainable.tokenizer,
        base=request.base,
        rows=rows,
        rewards=rewards,
        recipe=request.config,
        max_prompt_tokens=request.max_prompt_tokens,
        learning_rate=request.config.learning_rate_for(len(rows)),
        seed=request.seed,
    )
    checks = preflight(planned, channel.progress)
    write_whole(found, json.dumps(as_json(checks), indent=1, ensure_ascii=False))
    refuse_if_failed(checks)


def _write_result(
    request: TrainRequest, audit: AuditRecord, state: Any, selection: "Selection", started: StartedTraining
) -> None:
    from tasks.policy.merge import MERGED_FOLDER, check_prompts, write_merged
    from tasks.train.adapter_files import adapter_config

    if selection.best is None:
        raise AssertionError("training ended without one evaluation, though its last step is always evaluated")
    request.output.mkdir(parents=True, exist_ok=True)
    adapter = request.output / ADAPTER_FOLDER
    selection.write_best(adapter, adapter_config(started.trainer.model))
    started.write(request.output)
    if request.config.export_merged:
        prompts = check_prompts(_rows_of(request, "validation"))
        write_merged(request.base, adapter, request.output / MERGED_FOLDER, prompts, remedy=UNMERGED)
    summary = {
        "seed": request.seed,
        "algorithm": request.config.algorithm,
        "audit": audit.model_dump(mode="json", include={"spec", "reward_version", "sheet_sha256", "raters"}),
        "steps": state.global_step,
        "chosen_step": selection.best.step,
        "stopped_early": selection.exhausted,
        "validation": [validation.model_dump() for validation in selection.history],
        "log": [_decided(entry) for entry in state.log_history if "loss" in entry],
        **started.summary(),
    }
    # A resumed run reads its earlier entries from JSON, which has them in another order.
    (request.output / SUMMARY_FILE).write_text(json.dumps(summary, indent=1, sort_keys=True), encoding="utf-8")


def _decided(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the inputs decide of a step's log."""
    return {name: value for name, value in entry.items() if name not in TIMINGS and not name.startswith("seconds/")}
