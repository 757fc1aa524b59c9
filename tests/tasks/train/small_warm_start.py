"""A warm start at a size for tests: a few prompts and general instructions, and a tiny published model."""

import io
from pathlib import Path
from typing import Any

import polars as pl
from safetensors.torch import load_file

from schemas.config.train_sections import PolicyConfig, WarmStartConfig
from schemas.tables.prompts import GENERAL_FILE, INSTRUCTION_COLUMNS, PromptRow
from tasks.policy.child import Channel
from tasks.policy.published import given_template
from tasks.train.sft import warm_start
from tasks.train.sft.warm_start import WarmStartRequest
from tests.prompt_tables import prompt_table
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.train.small_training import tiny_policy

ROWS = [prompt_row("sentiment", f"Avaliação {number}") for number in range(9)]
GENERAL = [{"system": "", "prompt": f"Geral {number}", "completion": f"paralelepípedo {number}"} for number in range(3)]


def publish(folder: Path) -> Path:
    """Make a model by name: a folder as `save_pretrained` writes it."""
    model, tokenizer = tiny_policy()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_dataset(folder: Path, rows: list[PromptRow], general: list[dict[str, str]]) -> None:
    (folder / "data").mkdir()
    prompt_table(rows).write_parquet(folder / "data" / "train.parquet")
    if general:
        pl.DataFrame(general, INSTRUCTION_COLUMNS).write_parquet(folder / GENERAL_FILE)


def make_base(
    folder: Path,
    policy: PolicyConfig,
    config: WarmStartConfig,
    *,
    base: Path | None = None,
    gradient_checkpointing: bool = False,
) -> Path:
    """Make the base of the dataset in the folder, and return where it is."""
    request = WarmStartRequest(
        policy=policy,
        base=base,
        chat_template=given_template(policy),
        warm_start=config,
        gradient_checkpointing=gradient_checkpointing,
        seed=1,
        dataset=folder,
        output=folder / "output",
    )
    (folder / "request.json").write_text(request.model_dump_json(), encoding="utf-8")
    warm_start.main(folder / "request.json", Channel(io.StringIO()))
    return request.output


def weights_of(folder: Path) -> dict[str, Any]:
    return dict(load_file(folder / "model.safetensors"))
