import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.config.config import CurateConfig
from schemas.config.train_sections import PolicyConfig
from schemas.progress import silent
from schemas.tables.prompts import PromptRow, read_prompts
from schemas.tables.summaries import DatasetSummary
from tasks.curate import stage
from tasks.curate.processes import in_processes
from tests.prompt_tables import write_prompts
from tests.tasks.curate.prompt_rows import independent_rows, prompt_row

pytestmark = pytest.mark.slow

SETTINGS: Mapping[str, Any] = {
    "validation_per_task": 2,
    "test_per_task": 3,
    "held_out_share": 0.4,
    "max_prompt_tokens": 150,
    "shard_rows": 1000,
}
POLICY = PolicyConfig(stand_in=True)
LONG = "x1" * 100
CPF = "529.982.247-25"


def curate(
    folder: Path, rows: Iterable[PromptRow], name: str = "dataset", workers: int = 1, **settings: Any
) -> tuple[Path, DatasetSummary]:
    prompts = write_prompts(rows, folder / f"{name}-prompts" / "prompts.parquet").parent
    return curate_file(folder, prompts, name, workers, **settings)


def curate_file(
    folder: Path, prompts: Path, name: str = "dataset", workers: int = 1, **settings: Any
) -> tuple[Path, DatasetSummary]:
    (folder / name).mkdir()
    config = CurateConfig.model_validate({**SETTINGS, **settings})
    summary = stage.run(config, POLICY, prompts, folder / name, silent, in_processes(workers))
    return folder / name, summary


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def splits_of(dataset: Path) -> dict[str, list[PromptRow]]:
    return {split: read_prompts(dataset / "data" / f"{split}.parquet") for split in ("train", "validation", "test")}


def test_every_prompt_is_in_one_split_or_in_quarantine(tmp_path: Path) -> None:
    given = [
        *independent_rows(push=40, churn=40),
        prompt_row("push", LONG),
        prompt_row("push", "pergunta 3", {"product": "outro", "offer": "5%"}),
        replace(prompt_row("push", "editada"), prompt="outra"),
    ]
    dataset, _ = curate(tmp_path, given)
    splits = splits_of(dataset)
    assert {split: len(rows) for split, rows in splits.items() if split != "train"} == {"validation": 4, "test": 6}
    quarantine = pl.read_parquet(dataset / "quarantine.parquet")
    assert set(quarantine["reason"]) == {"too long", "duplicate", "held out", "schema"}
    assert quarantine["row"].to_list() == sorted(quarantine["row"])
    out = [row.prompt_id for rows in splits.values() for row in rows] + quarantine["prompt_id"].to_list()
    # The id of the edited row was that of another content, and is made again.
    assert len(out) == len(given)
    assert {row.prompt_id for row in given[:-1]} < set(out)
    assert quarantine.filter(reason="schema").select("row", "detail").rows() == [
        (83, "not true: prompt id is its content")
    ]


def test_same_bytes_however_many_workers_and_however_large_their_shards(tmp_path: Path) -> None:
    rows = [*independent_rows(push=700, churn=500), prompt_row("push", LONG), prompt_row("churn", f"CPF {CPF}")]
    one, _ = curate(tmp_path, rows, "one")
    for name, workers, shard_rows in (("two", 2, 1000), ("large", 1, 20_000)):
        other, _ = curate(tmp_path, rows, name, workers, shard_rows=shard_rows)
        assert contents(one) == contents(other)


def test_personal_data_is_in_no_file(tmp_path: Path) -> None:
    rows = [
        *independent_rows(churn=60),
        *(prompt_row("churn", f"pergunta {number} de {CPF}", order_id=f"o{number}") for number in range(60, 100)),
        prompt_row("extraction", "Ruim", {"rating": 1, "fields": {"main_complaint": f"meu CPF é {CPF}"}}),
        *(prompt_row("extraction", f"Boa {number}") for number in range(60)),
        replace(prompt_row("churn", f"linha quebrada de {CPF}"), task="churn", reference={"churn": "sim"}),
        prompt_row("churn", "de quem?", customer_id="ana@example.com"),
        prompt_row("churn", f"{CPF} {LONG}"),
    ]
    dataset, summary = curate(tmp_path, rows)
    assert summary.scrubbed["CPF"] == 43
    everything = [*splits_of(dataset)["train"], *splits_of(dataset)["test"]]
    assert any("[CPF]" in row.prompt for row in everything)
    tables = [pl.read_parquet(path).write_csv() for path in dataset.rglob("*.parquet")]
    texts = [*tables, (dataset / "README.md").read_text(), (dataset / "summary.json").read_text()]
    for text in texts:
        assert "529.982" not in text
        assert "ana@" not in text
        # The hash of a text with a number in it gives the number away to whoever tries all of them.
        assert not any(row.prompt_id in text for row in rows if CPF in row.prompt + str(row.reference))


@pytest.mark.parametrize(
    "note",
    [
        '"cpf 529\\t982\\t247\\t25"',
        '"\\u0035\\u0032\\u0039\\u0039\\u0038\\u0032\\u0032\\u0034\\u0037\\u0032\\u0035"',
        '"529.982.247-25","note":"ok"',
        "52998224725",
    ],
)
def test_no_form_of_json_hides_personal_data(note: str, tmp_path: Path) -> None:
    line = f'{{"task": "churn", "prompt": "de quem?", "reference": {{"churn": true, "note": {note}}}}}'
    lines = [
        line,
        *(json.dumps({"task": "churn", "prompt": f"p {n}", "reference": {"churn": True}}) for n in range(60)),
    ]
    (tmp_path / "own.jsonl").write_text("\n".join(lines), encoding="utf-8")
    dataset, _ = curate_file(tmp_path, tmp_path / "own.jsonl", max_prompt_tokens=1000)
    references = [row.reference for rows in splits_of(dataset).values() for row in rows]
    quarantine = pl.read_parquet(dataset / "quarantine.parquet")
    notes = [str(reference["note"]) for reference in references if "note" in reference]
    text = " ".join([*notes, *quarantine["reference"]])
    assert "[CPF]" in text or notes == ["ok"] or '"note":"ok"' in text
    assert "52998224725" not in re.sub(r"\D", "", text)


def test_a_prompt_that_the_base_knows_tests_nothing_and_may_be_trained_on(tmp_path: Path) -> None:
    rows = [*independent_rows(push=60)]
    before, _ = curate(tmp_path, rows, "before")
    splits = splits_of(before)
    taught = [splits["test"][0], splits["validation"][0], *splits["train"][:5]]
    known = tmp_path / "known.jsonl"
    known.write_text("".join(json.dumps({"prompt": row.prompt}) + "\n" for row in taught), encoding="utf-8")
    after, summary = curate(tmp_path, rows, "after", known_to_base=known)
    assert summary.reasons["known to base"] == {"push": 2}
    quarantine = pl.read_parquet(after / "quarantine.parquet").filter(reason="known to base")
    assert set(quarantine["prompt_id"]) == {row.prompt_id for row in taught[:2]}
    others = splits_of(after)
    assert {split: len(kept) for split, kept in others.items()} == {split: len(kept) for split, kept in splits.items()}
    assert others["train"] == splits["train"]
    assert "| known to base | 2 | push 2 |" in (after / "README.md").read_text(encoding="utf-8")
