"""Inputs of the train stage's child: a base of random weights, prompts of the real tasks, a store and an audit."""

import json
import random
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.gpu_check.base import SEED, Scale
from schemas.config.profiles import load_config
from schemas.config.train import TrainConfig
from schemas.documents import AUDIT_RECORD_FILE, AuditedTask, AuditRecord
from schemas.store.files import write_store
from schemas.tables.prompts import SPLITS, PromptRow, write_prompt_table
from schemas.tasks import TaskName
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS, joint_version, reward_versions
from tasks.synthesize.simulated import as_prompt_row, simulate_store
from tasks.train.request import TrainRequest
from tasks.train.sizing.memory import DecoderShape

if TYPE_CHECKING:
    import torch

CHECKED_TASKS: Final[tuple[TaskName, ...]] = ("push", "sentiment")
"""Tasks whose reference answers are short: a policy of random weights learns from these."""
LEARNT_TOKENS: Final = 1024  # Entries of the vocabulary that are learnt from the prompts; the others are made up.
STEPS: Final = 3
UNINTERRUPTED: Final = "training"  # Folder of the training that nobody interrupts; later groups read its adapter.
CONTEXT_TOKENS: Final = 4096
DIGEST: Final = "0" * 64


@dataclass(frozen=True)
class Inputs:
    """Folders of the artifacts that a training reads."""

    base: Path
    dataset: Path
    store: Path
    audit: Path


def inputs_of(scale: Scale, work: Path) -> Inputs:
    """Return the inputs, written on the first call of any group."""
    found = Inputs(*(work / "inputs" / name for name in ("base", "dataset", "store", "audit")))
    whole = work / "inputs" / "whole"
    if not whole.exists():
        _write(found, scale)
        whole.touch()
    return found


def _write(inputs: Inputs, scale: Scale) -> None:
    store = simulate_store(300, random.Random(SEED))
    write_store(store, inputs.store)
    counts = {"train": 32, "validation": 22, "test": 10} if not scale.is_tiny else dict.fromkeys(SPLITS, 6)
    rows: dict[TaskName, list[PromptRow]] = {}
    for task in CHECKED_TASKS:
        examples = EXAMPLE_MAKERS[task](store, random.Random(SEED), sum(counts.values()))
        rows[task] = list(map(as_prompt_row, examples))
    texts = [
        text
        for task, of_task in rows.items()
        for row in of_task
        for text in (row.system, row.prompt, TASKS[task].answer(row.reference))
    ]
    write_base(scale.policy, inputs.base, texts)
    (inputs.dataset / "data").mkdir(parents=True, exist_ok=True)
    for split, count in counts.items():
        taken = [row for of_task in rows.values() for row in of_task[:count]]
        write_prompt_table(inputs.dataset / "data" / f"{split}.parquet", taken)
        rows = {task: of_task[count:] for task, of_task in rows.items()}
    inputs.audit.mkdir(parents=True, exist_ok=True)
    (inputs.audit / AUDIT_RECORD_FILE).write_text(_audit().model_dump_json(), encoding="utf-8")


def write_base(shape: DecoderShape, folder: Path, texts: list[str]) -> None:
    """Write a model of this shape with random weights in bfloat16, and a tokenizer of as many entries."""
    import torch

    from tasks.stand_in.model import build_tokenizer

    tokenizer = build_tokenizer(texts, min(LEARNT_TOKENS, shape.vocabulary))
    special = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id}
    build(shape, "cpu", torch.bfloat16, **special).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    file = folder / "tokenizer.json"
    values = json.loads(file.read_text(encoding="utf-8"))
    vocabulary = values["model"]["vocab"]
    # A random model samples from all of its entries: each must be a word of its own, or answers could not be compared.
    vocabulary.update({f"Ġ{number}": number for number in range(len(vocabulary), shape.vocabulary)})
    file.write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")


def build(shape: DecoderShape, device: str, dtype: "torch.dtype", **more: Any) -> Any:
    """Return a model of a shape with random weights; `more` are settings of its configuration."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(
        shape.kind,
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        intermediate_size=shape.feed_forward,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_value_heads,
        head_dim=shape.head_size,
        max_position_embeddings=CONTEXT_TOKENS,
        tie_word_embeddings=shape.tied,
        bos_token_id=None,
        **more,
    )
    with torch.random.fork_rng(), torch.device(device):
        torch.manual_seed(SEED)
        return AutoModelForCausalLM.from_config(config, dtype=dtype)


def _audit() -> AuditRecord:
    audited = AuditedTask(n=40, rho=0.9, rho_low=0.8, verdict="agrees")
    return AuditRecord(
        spec="grounded",
        reward_version=joint_version(),
        reward_versions=reward_versions(),
        sheet_sha256=DIGEST,
        rollouts_sha256=DIGEST,
        raters={"rater": "human"},
        verdict="passed",
        reasons=(),
        thresholds={},
        tasks=dict.fromkeys(CHECKED_TASKS, audited),
    )


def recipe_of(scale: Scale, profile: str, **changes: Any) -> TrainConfig:
    """Return a profile's recipe for a few steps of an untrained policy, with a right answer shown to every group.

    The limits of the preflight that such a policy cannot keep are lifted, and no others.
    """
    own = load_config(profile).train.model_dump()
    settings: dict[str, Any] = {
        "interpreter": None,
        "seeds": (),
        "load_in_4bit": own["load_in_4bit"] and find_spec("bitsandbytes") is not None,
        "max_steps": STEPS,
        # So that a few steps change answers by more than bfloat16's rounding.
        "learning_rate": 1e-3,
        "learning_rate_at_scale": None,
        "warmup_share": 0.0,
        "guided_correction": {"share": 1.0, "threshold": 1.0},
        "max_completion_tokens": 48 if scale.is_tiny else 32,
        # An H100 took a tenth of a second for each token of a batch, and as long for that of one answer.
        "evaluate_every": 1 if scale.is_tiny else STEPS,
        "save_every": 1,
        "keep_checkpoints": STEPS,
        "patience": 100,
        "alarms": {**own["alarms"], "stop_on": ("non_finite",)},
        "preflight": {
            **own["preflight"], "prompts": 2, "max_ceiling_share": 1.0, "min_spread": 0.0, "max_zero_variance": 1.0,
            "min_prompts_per_task": 4,
        },
        # Nothing announces the end of this machine, and a killed process's successor starts at once.
        "preemption": {**own["preemption"], "notice_url": None, "snapshot_share": 0.0, "lease_seconds": 2.0},
    }  # fmt: skip
    if find_spec("bitsandbytes") is None:
        settings["optimizer"] = {**own["optimizer"], "name": "adamw_torch"}
    if scale.is_tiny:
        settings |= {"generations": 4, "accumulation": 2, "prompts_per_step": 2}
    return TrainConfig.model_validate({**own, **settings, **changes})


def request_of(scale: Scale, work: Path, training: str, recipe: TrainConfig) -> TrainRequest:
    """Return the train stage's request to its child."""
    inputs = inputs_of(scale, work)
    config = load_config("l4")
    return TrainRequest(
        config=recipe,
        spec="grounded",
        validation_temperature=config.evaluate.temperature,
        validation_batch_size=config.evaluate.batch_size,
        max_prompt_tokens=config.curate.max_prompt_tokens,
        seed=SEED,
        base=inputs.base,
        base_sha256=DIGEST,
        dataset=inputs.dataset,
        store=inputs.store,
        audit=inputs.audit,
        mirror=str(work / "mirror"),
        training=training,
        output=work / training / "output",
    )
