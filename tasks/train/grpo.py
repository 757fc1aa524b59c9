"""GRPO on a LoRA adapter: the child process of the train stage.

The recipe is V4.2 of the final report (beta 0, no reward scaling, GDPO, temperature 1.0, constant learning rate after
a warm-up) with DAPO's Clip-Higher (2503.14476, 3.1).
"""

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from schemas.audit_record import AuditRecord
from schemas.train_config import TrainConfig
from schemas.prompts import PromptRow, read_prompts
from schemas.store_files import read_store
from schemas.tasks import SpecName
from tasks.checkpoints.address import open_mirror
from tasks.commerce import registry
from tasks.commerce.sandbox import Databases
from tasks.policy.child import Channel, serve
from tasks.train.audited import require_audit

ADAPTER_FOLDER = "adapter"
SUMMARY_FILE = "training.json"
WORK_FOLDER = "work"
TIMINGS = frozenset({"step_time"})
"""What the log holds that is not decided by the inputs; MLflow has it, the artifact has not."""


class GrpoRequest(BaseModel):
    """What the train stage asks of its child."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    config: TrainConfig
    """The recipe."""
    spec: SpecName
    """The reward specification that is trained on."""
    validation_temperature: float
    """Temperature of the answers that choose the checkpoint: the evaluation's own."""
    validation_batch_size: int
    """Validation prompts answered at once."""
    seed: int
    """Decides the adapter's first weights, the order of the prompts and every sampled token."""
    base: Path
    """Folder of the base model."""
    dataset: Path
    """Folder of the dataset artifact."""
    store: Path
    """Folder of the store that SQL is executed on."""
    audit: Path
    """Folder of the audit that lets this training start."""
    mirror: str
    """Where checkpoints are mirrored: a folder or `gs://bucket/prefix`."""
    training: str
    """Key of this training in the mirror: equal inputs, equal key."""
    output: Path
    """Empty folder for the adapter and the training summary."""


def main(request_file: Path, channel: Channel) -> None:
    """Train, going on from the newest mirrored checkpoint that verifies, and write the chosen adapter."""
    request = GrpoRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    training_rows = read_prompts(request.dataset / "data" / "train.parquet")
    audit = require_audit(request.audit, request.spec, {row.task for row in training_rows})
    work = request_file.parent / WORK_FOLDER
    channel.progress(0, request.config.max_steps, "loading torch and TRL")

    import torch
    import transformers
    from peft import LoraConfig

    from tasks.policy.load import load_base, load_tokenizer
    from tasks.train.callbacks import Publisher, StepReporter
    from tasks.train.rewards import ComponentRewards
    from tasks.train.trainer import PolicyTrainer
    from tasks.train.validation import Selection

    transformers.utils.logging.disable_progress_bar()
    torch.use_deterministic_algorithms(True, warn_only=True)
    tokenizer = load_tokenizer(request.base)
    model = load_base(request.base, four_bit=request.config.load_in_4bit)
    databases = Databases.from_store(read_store(request.store))
    rewards = ComponentRewards(databases, request.spec)
    functions, weights = rewards.functions()
    validation_rows = read_prompts(request.dataset / "data" / "validation.parquet")
    selection = Selection(
        lambda step: _validate(trainer.model, tokenizer, validation_rows, databases, request, step),
        work,
        every=request.config.evaluate_every,
        patience=request.config.patience,
    )
    mirror = open_mirror(request.mirror, request.training)
    trainer = PolicyTrainer(
        model=model,
        reward_funcs=functions,
        args=_arguments(request, work, weights),
        train_dataset=_as_training_set(training_rows),
        processing_class=tokenizer,
        peft_config=LoraConfig(
            r=request.config.lora.rank,
            lora_alpha=request.config.lora.alpha,
            lora_dropout=0.0,
            target_modules="all-linear",
            task_type="CAUSAL_LM",
        ),
        callbacks=[
            selection,
            Publisher(mirror, selection, request.config.keep_checkpoints),
            StepReporter(channel, request.config.max_steps),
        ],
    )
    manifest = mirror.newest()
    checkpoint: Path | None = None
    if manifest is not None:
        checkpoint = work / f"checkpoint-{manifest.step}"
        mirror.restore(manifest, checkpoint)
        selection.restore(checkpoint)
        logging.getLogger(__name__).info("resuming at step %d", manifest.step)
        channel.progress(manifest.step, request.config.max_steps, f"resumed at step {manifest.step}")
    if manifest and checkpoint and (selection.exhausted or manifest.step >= request.config.max_steps):
        # Nothing is left to train, and the Trainer would take one step more before it noticed.
        state = transformers.TrainerState.load_from_json(str(checkpoint / "trainer_state.json"))
    else:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        state = trainer.state
    _write_result(request, audit, state, selection)


def _arguments(request: GrpoRequest, work: Path, weights: Sequence[float]) -> Any:
    import torch
    from trl import GRPOConfig

    config = request.config
    return GRPOConfig(
        output_dir=str(work),
        seed=request.seed,
        data_seed=request.seed,
        max_steps=config.max_steps,
        per_device_train_batch_size=config.prompts_per_step * config.generations,
        gradient_accumulation_steps=1,
        steps_per_generation=1,
        num_iterations=1,
        num_generations=config.generations,
        max_completion_length=config.max_completion_tokens,
        temperature=config.temperature,
        top_p=1.0,
        top_k=0,
        min_p=None,
        repetition_penalty=1.0,
        learning_rate=config.learning_rate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=round(config.warmup_share * config.max_steps),
        weight_decay=0.0,
        max_grad_norm=1.0,
        beta=config.beta,
        epsilon=config.epsilon_low,
        epsilon_high=config.epsilon_high,
        loss_type="dr_grpo",
        scale_rewards="none",
        multi_objective_aggregation="normalize_then_sum",
        reward_weights=list(weights),
        shuffle_dataset=True,
        bf16=torch.cuda.is_available(),
        use_cpu=not torch.cuda.is_available(),
        gradient_checkpointing=False,
        save_strategy="steps",
        save_steps=config.save_every,
        save_total_limit=1,
        eval_strategy="no",
        logging_strategy="steps",
        logging_steps=1,
        logging_first_step=True,
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
    )


def _as_training_set(rows: Sequence[PromptRow]) -> Any:
    from datasets import Dataset

    from tasks.policy.generate import as_messages

    return Dataset.from_list(
        [
            {
                "prompt": as_messages(row.system, row.prompt),
                "prompt_id": row.prompt_id,
                "task": row.task,
                "prompt_text": row.prompt,
                "reference": json.dumps(row.reference, ensure_ascii=False),
            }
            for row in rows
        ]
    )


def _validate(
    model: Any, tokenizer: Any, rows: Sequence[PromptRow], databases: Databases, request: GrpoRequest, step: int
) -> dict[str, float]:
    """Return the mean reward of each task over the validation split."""
    from tasks.policy.generate import as_messages, generate

    training = model.training
    model.eval()
    completions = generate(
        model,
        tokenizer,
        [as_messages(row.system, row.prompt) for row in rows],
        temperature=request.validation_temperature,
        max_tokens=request.config.max_completion_tokens,
        batch_size=request.validation_batch_size,
        seed=request.seed + step,
    )
    model.train(training)
    rewards: dict[str, list[float]] = {}
    for row, completion in zip(rows, completions, strict=True):
        scored = registry.score_rollout(completion.as_rollout(row), databases, request.spec)
        rewards.setdefault(row.task, []).append(scored.reward)
    return {task: sum(values) / len(values) for task, values in rewards.items()}


def _write_result(request: GrpoRequest, audit: AuditRecord, state: Any, selection: Any) -> None:
    if selection.best is None:
        raise AssertionError("training ended without one evaluation, though its last step is always evaluated")
    request.output.mkdir(parents=True, exist_ok=True)
    selection.best_adapter.replace(request.output / ADAPTER_FOLDER)
    summary = {
        "seed": request.seed,
        "audit": audit.model_dump(mode="json", include={"spec", "reward_version", "sheet_sha256", "raters"}),
        "steps": state.global_step,
        "chosen_step": selection.best.step,
        "stopped_early": selection.exhausted,
        "validation": [validation.model_dump() for validation in selection.history],
        "log": [
            {name: value for name, value in entry.items() if name not in TIMINGS}
            for entry in state.log_history
            if "loss" in entry
        ],
    }
    # A resumed run reads its earlier entries from JSON, which has them in another order.
    (request.output / SUMMARY_FILE).write_text(json.dumps(summary, indent=1, sort_keys=True), encoding="utf-8")


if __name__ == "__main__":
    serve(main)
