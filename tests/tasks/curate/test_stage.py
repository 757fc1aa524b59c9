import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pytest

from schemas.config import CurateConfig
from schemas.errors import InputError
from schemas.prompts import PromptRow, prompt_table, read_prompts, write_prompt_table
from tasks.curate import stage
from tests.tasks.curate.prompt_rows import independent_rows, prompt_row

CONFIG = CurateConfig(validation_per_task=2, test_per_task=3, max_prompt_characters=100)


def curate(folder: Path, rows: Iterable[PromptRow], name: str = "dataset") -> Path:
    write_prompt_table(prompt_table(rows), folder / "prompts" / "prompts.parquet")
    (folder / name).mkdir()
    stage.run(CONFIG, 0, folder / "prompts", folder / name)
    return folder / name


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_prompt_is_in_one_split_or_in_quarantine(tmp_path: Path) -> None:
    given = [*independent_rows(push=10, churn=6), prompt_row("push", "x" * 200), prompt_row("push", "pergunta 3")]
    dataset = curate(tmp_path, given)
    splits = {split: read_prompts(dataset / "data" / f"{split}.parquet") for split in ("train", "validation", "test")}
    assert {split: len(rows) for split, rows in splits.items()} == {"train": 6, "validation": 4, "test": 6}
    quarantine = pl.read_parquet(dataset / "quarantine.parquet")
    assert quarantine["reason"].to_list() == ["too long", "duplicate"]
    out = [row.prompt_id for rows in splits.values() for row in rows] + quarantine["prompt_id"].to_list()
    assert sorted(out) == sorted(row.prompt_id for row in given)


def test_the_summary_counts_what_the_files_hold(tmp_path: Path) -> None:
    dataset = curate(tmp_path, [*independent_rows(push=10), prompt_row("push", "x" * 200)])
    summary = json.loads((dataset / "summary.json").read_text())
    assert summary["tasks"]["push"] == {"train": 5, "validation": 2, "test": 3}
    assert summary["tasks"]["churn"] == {"train": 0, "validation": 0, "test": 0}
    assert (summary["train"], summary["validation"], summary["test"], summary["quarantined"]) == (5, 2, 3, 1)
    assert summary["reasons"] == {"schema": {}, "too long": {"push": 1}, "duplicate": {}, "leakage": {}}
    assert summary["sources"] == {"simulated": 10}


def test_the_card_tells_counts_licence_drops_and_hashes(tmp_path: Path) -> None:
    dataset = curate(tmp_path, [*independent_rows(push=10), prompt_row("push", "x" * 200)])
    card = (dataset / "README.md").read_text()
    assert "| push | 5 | 2 | 3 |" in card
    assert "| too long | 1 | push 1 |" in card
    assert "| simulated | 10 | made by this project" in card
    digest = hashlib.sha256((dataset / "data" / "test.parquet").read_bytes()).hexdigest()
    assert f"| data/test.parquet | {digest} |" in card


def test_equal_inputs_give_equal_bytes(tmp_path: Path) -> None:
    rows = [*independent_rows(push=30, sql_qa=20), prompt_row("push", "x" * 200)]
    assert contents(curate(tmp_path, rows, "first")) == contents(curate(tmp_path, rows, "second"))


def test_a_task_with_too_few_rows_is_named_with_its_counts(tmp_path: Path) -> None:
    rows = [*independent_rows(push=10, churn=5), prompt_row("churn", "x" * 200)]
    with pytest.raises(InputError, match=r"\(churn 5 of 6\).*needs 6"):
        curate(tmp_path, rows)
    assert contents(tmp_path / "dataset") == {}


@pytest.mark.parametrize("rows", [[], [prompt_row("push", str(number) * 200) for number in range(9)]])
def test_nothing_left_is_an_error(rows: list[PromptRow], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="too few prompts are left to split"):
        curate(tmp_path, rows)


def test_prompts_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"prompts\.parquet does not exist"):
        stage.run(CONFIG, 0, tmp_path, tmp_path)
