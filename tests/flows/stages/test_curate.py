import re
from pathlib import Path

import pytest

from flows.stages.inputs import _curate_inputs, _dataset_figures
from schemas.config.config import CurateConfig
from schemas.config.profiles import load_config
from schemas.config.train_sections import PolicyConfig
from schemas.progress import silent
from tasks.curate import stage
from tasks.curate.processes import in_processes
from tests.prompt_tables import write_prompts
from tests.tasks.curate.prompt_rows import independent_rows, prompt_row

MLFLOW_NAME = re.compile(r"[\w\-./ :]+")


def test_every_figure_has_a_name_that_mlflow_takes(tmp_path: Path) -> None:
    rows = [*independent_rows(churn=60), prompt_row("churn", "CPF 529.982.247-25"), prompt_row("churn", "x" * 900)]
    prompts = write_prompts(rows, tmp_path / "prompts" / "prompts.parquet")
    config = CurateConfig(validation_per_task=2, test_per_task=2, held_out_share=0.3, max_prompt_tokens=500)
    (tmp_path / "dataset").mkdir()
    stage.run(config, PolicyConfig(stand_in=True), prompts, tmp_path / "dataset", silent, in_processes(1))
    figures = _dataset_figures(tmp_path / "dataset")
    assert figures["replaced: CPF"] == 1
    assert figures["too long: churn"] == 1
    assert all(MLFLOW_NAME.fullmatch(name) for name in figures)


@pytest.mark.parametrize("override", ["seed=7", "curate.workers=5", "curate.shard_rows=5000", "train.max_steps=3"])
def test_key_inputs_nothing_makes_no_new_dataset(override: str) -> None:
    assert _curate_inputs(load_config("local", [override])) == _curate_inputs(load_config("local"))


@pytest.mark.parametrize("override", ["curate.split_seed=7", "curate.max_prompt_tokens=900", "policy.stand_in=false"])
def test_key_inputs_something_makes_a_new_one(override: str) -> None:
    assert _curate_inputs(load_config("local", [override])) != _curate_inputs(load_config("local"))


def test_a_tokenizer_and_references_of_people_count_by_their_content(tmp_path: Path) -> None:
    given = tmp_path / "references.jsonl"
    given.write_text("1")
    (tmp_path / "tokenizer.json").write_text("1")
    config = load_config("local", ["policy.stand_in=false", f"policy.name={tmp_path}", f"curate.references={given}"])
    before = _curate_inputs(config)
    (tmp_path / "model.safetensors").write_text("weights")
    assert _curate_inputs(config) == before
    (tmp_path / "vocab.json").write_text("2")
    other = _curate_inputs(config)
    assert other != before
    given.write_text("2")
    assert _curate_inputs(config) != other
