"""One training from request to adapter, for any algorithm: audit, preflight, resume, callbacks, result."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from schemas.config.workers import price_per_hour
from schemas.disk import write_whole
from schemas.documents import AuditRecord
from schemas.errors import InputError
from schemas.tables.prompts import PromptRow, read_prompts
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.batch import machine_device
from tasks.policy.child import Channel
from tasks.policy.load import ADAPTER_FOLDER
from tasks.train.backend.trainable import refuse_small_card
from tasks.train.preflight.check import PREFLIGHT_FILE, as_json, refuse_if_failed
from tasks.train.preflight.inputs import require_audit
from tasks.train.request import TrainRequest
from tasks.train.resume.lease import TrainingLease, acquire_training
from tasks.train.resume.preemption import Preemption, is_spot
from tasks.train.resume.shutdown import GracefulShutdown
from tasks.train.summaries import SUMMARY_FILE
from tasks.train.watch.out_of_memory import memory_errors_translated

if TYPE_CHECKING:
    from transformers import TrainerState

    from tasks.train.backend.trainable import Trainable
    from tasks.train.grpo.rewards import ComponentRewards
    from tasks.train.resume.state_files import Stateful
    from tasks.train.watch.alarms import Alarms
    from tasks.train.watch.validation import Selection

WORK_FOLDER: Final = "work"
TIMINGS: Final = frozenset({"step_time", "sampling/tokens_per_second"})
"""Log entries that the inputs do not decide, beside all `seconds/`; kept in MLflow but not in the artifact."""


@dataclass(frozen=True)
class TrainingInputs:
    """Inputs from which an algorithm builds its trainer."""

    request: TrainRequest
    rows: Sequence[PromptRow]
    """The training prompts of the trained tasks."""
    trainable: "Trainable"
    rewards: "ComponentRewards"
    work: Path
    """Folder for the trainer's temporary files."""
    on_gpu: bool
    checkpoint: Path | None
    """Folder to resume from; None if training starts."""
    channel: Channel


@dataclass(frozen=True)
class StartedTraining:
    """An algorithm's trainer with its extra state and outputs."""

    trainer: Any
    parts: "Mapping[str, Stateful]"
    """State in each checkpoint beyond that of any Trainer, by file name."""
    write: Callable[[Path], None]
    """Writes the algorithm's records into the policy's folder: all rollouts, or the pairs."""
    summary: Callable[[], Mapping[str, Any]] = dict
    """Additions to the training's summary."""


class _Prepared(NamedTuple):
    """A training whose trainer is ready for its next step, or that has none left."""

    started: StartedTraining
    selection: "Selection"
    alarms: "Alarms"
    ended: "TrainerState | None" = None
    """The Trainer's state after the last step, if the checkpoint is of that step."""


def train(request_file: Path, channel: Channel, start: Callable[[TrainingInputs], StartedTraining]) -> None:
    """Train, resuming from the newest verified checkpoint, and write the chosen adapter.

    Temporary files go beside the request file, a `TrainRequest` as JSON. `start` builds the algorithm's trainer.
    InputError where the request cannot be trained, does not fit into the memory, or was taken over; GateRefused where
    there is no audit of these rewards, a preflight check failed, or an alarm stopped the training; Interrupted where
    the machine is preempted; the work done is mirrored.
    """
    request = TrainRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    config, folder, rows = request.config, request_file.parent, _rows_of(request, "train")
    audit = require_audit(request.audit, request.spec, {row.task for row in rows})
    if len(rows) < config.prompts_per_step:
        raise InputError(
            f"train.prompts_per_step is {config.prompts_per_step}, and there are {len(rows)} training prompts; lower "
            "it, or make more with synthesize.counts"
        )
    preemption = Preemption(config.preemption.seconds, config.preemption.notice_url, config.preemption.notice_seconds)
    preemption.watch()
    shutdown = GracefulShutdown(preemption, channel)
    channel.progress(0, config.max_steps, "loading torch and TRL")
    with memory_errors_translated(config), acquire_training(request, folder, channel, preemption) as held:
        shutdown.with_training(held)
        prepared = _prepare(_load(request, rows, folder, held.checkpoint, channel), held, preemption, start)
        if prepared.ended is None:
            checkpoint = str(held.checkpoint) if held.checkpoint else None
            prepared.started.trainer.train(resume_from_checkpoint=checkpoint)
        shutdown.stop_if_requested()
        _finish(request, audit, held, prepared)


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


def _load(
    request: TrainRequest, rows: Sequence[PromptRow], folder: Path, checkpoint: Path | None, channel: Channel
) -> TrainingInputs:
    """Load the policy, and the rewards with the databases that queries run on."""
    refuse_small_card(request.config)
    from tasks.train.backend.trainable import load_trainable

    work = folder / WORK_FOLDER
    # Before any other import of TRL: Unsloth, if it is the backend, must be first.
    trainable = load_trainable(
        request.base, request.config, seed=request.seed, max_prompt_tokens=request.max_prompt_tokens, work=work
    )

    import torch
    import transformers

    from tasks.train.grpo.rewards import ComponentRewards

    transformers.utils.logging.disable_progress_bar()
    on_gpu = torch.cuda.is_available()
    # On a GPU it would also fill all fresh memory.
    torch.use_deterministic_algorithms(not on_gpu, warn_only=True)
    rewards = ComponentRewards(Databases.open(request.store), request.spec)
    return TrainingInputs(request, rows, trainable, rewards, work, on_gpu, checkpoint, channel)


def _prepare(
    inputs: TrainingInputs,
    held: TrainingLease,
    preemption: Preemption,
    start: Callable[[TrainingInputs], StartedTraining],
) -> _Prepared:
    """Build the trainer with all that watches it, and restore a checkpoint or check the first step."""
    from transformers import TrainerState

    from tasks.train.resume.state_files import TRAINER_STATE_FILE
    from tasks.train.watch.alarms import Alarms
    from tasks.train.watch.callbacks import watch
    from tasks.train.watch.validation import Selection, validate

    request, channel, checkpoint, config = inputs.request, inputs.channel, held.checkpoint, inputs.request.config
    if checkpoint is not None:
        channel.progress(held.step, config.max_steps, f"resumed at step {held.step}")
    started, rows = start(inputs), _rows_of(request, "validation")
    selection = Selection(
        lambda step: validate(
            started.trainer.model,
            inputs.trainable.tokenizer,
            rows,
            inputs.rewards.databases,
            request.spec,
            step=step,
            temperature=request.validation_temperature,
            max_tokens=config.max_completion_tokens,
            batch_size=request.validation_batch_size,
            seed=request.seed,
            stock=config.stock_generation,
            guided=config.guided,
        ),
        every=config.evaluate_every,
        patience=config.patience,
    )
    alarms = Alarms(config.alarms, config.iterations)
    spot = is_spot(config.preemption.notice_url)
    price = price_per_hour(request.prices, machine_device(), spot=spot, otherwise=config.price_per_hour)
    priced = config.model_copy(update={"price_per_hour": price})
    checkpointer = watch(started.trainer, started.parts, selection, alarms, held.keeper, preemption, priced, channel)
    if not config.max_steps:
        # The policy is the model after SFT: an adapter that changes nothing, validated once.
        selection.on_train_begin(None, None, None, model=started.trainer.model)
        return _Prepared(started, selection, alarms, started.trainer.state)
    if checkpoint is None:
        # A resumed training has passed it with the same recipe; a Spot machine would pay for it each time.
        _check(inputs, started.trainer, held.folder)
        return _Prepared(started, selection, alarms)
    checkpointer.restore(checkpoint)
    if selection.best is not None:
        held.retry_best_pin(selection.best.step)
    # Where nothing is left to train, the Trainer would take one more step before it noticed.
    over = held.step >= config.max_steps or selection.exhausted or alarms.stopped_by is not None
    ended = TrainerState.load_from_json(str(checkpoint / TRAINER_STATE_FILE)) if over else None
    return _Prepared(started, selection, alarms, ended)


def _check(inputs: TrainingInputs, trainer: Any, folder: Path) -> None:
    """Run the preflight, and write its results even if it refuses."""
    from tasks.train.preflight.run import preflight

    checks = preflight(
        trainer, inputs.trainable.tokenizer, inputs.request, inputs.rows, inputs.rewards, inputs.channel.progress
    )
    write_whole(folder / PREFLIGHT_FILE, json.dumps(as_json(checks), indent=1, ensure_ascii=False))
    refuse_if_failed(checks)


def _finish(request: TrainRequest, audit: AuditRecord, held: TrainingLease, prepared: _Prepared) -> None:
    """Mirror the last checkpoint of a training that ended, and write its result."""
    from tasks.policy.unpacked import unknown_to_engine
    from tasks.train.resume.adapter_files import adapter_config

    held.keeper.flush()
    prepared.alarms.require_none_stopped(held.newest_step or None)
    held.keeper.pin_newest("final")
    selection, started = prepared.selection, prepared.started
    state = started.trainer.state if prepared.ended is None else prepared.ended
    if selection.best is None:
        raise AssertionError("training ended without one evaluation, though its last step is always evaluated")
    request.output.mkdir(parents=True, exist_ok=True)
    selection.write_best(request.output / ADAPTER_FOLDER, adapter_config(started.trainer.model))
    started.write(request.output)
    summary = {
        "seed": request.seed,
        "algorithm": request.config.algorithm,
        "audit": audit.model_dump(mode="json", include={"spec", "reward_version", "sheet_sha256", "raters"}),
        "steps": state.global_step,
        "chosen_step": selection.best.step,
        "stopped_early": selection.exhausted,
        "unknown_to_engine": unknown_to_engine(started.trainer.model, stock=request.config.stock_generation),
        "validation": [validation.model_dump() for validation in selection.history],
        "log": [
            {name: value for name, value in entry.items() if name not in TIMINGS and not name.startswith("seconds/")}
            for entry in state.log_history
            if "loss" in entry
        ],
        **started.summary(),
    }
    # A resumed run reads its earlier entries from JSON, in another order.
    (request.output / SUMMARY_FILE).write_text(json.dumps(summary, indent=1, sort_keys=True), encoding="utf-8")
