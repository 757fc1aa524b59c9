"""Dataset without a person: no row of theirs in any table, and every other training row keeps its place."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from schemas.errors import InputError
from schemas.tables.dataset_summary import DatasetSummary
from schemas.tables.person import Person
from schemas.tables.prompts import TRAIN_FILE, read_prompts
from schemas.tables.vacancies import read_vacancies, with_vacancies
from tasks.audit.forget import remove_given
from tasks.curate.files import QUARANTINE_COLUMNS, QUARANTINE_FILE
from tasks.curate.forget import refuse_too_few, without_person
from tasks.curate.given import read_references
from tests.prompt_tables import prompt_table, write_prompts
from tests.summaries import DATASET_SUMMARY
from tests.tasks.curate.prompt_rows import prompt_row

ANA = Person(frozenset({"ana"}), frozenset({"o-1"}), frozenset({"r-1"}), frozenset())
OF_ANA = prompt_row("push", "de ana", customer_id="ana")
TRAIN = [prompt_row("push", "um"), OF_ANA, prompt_row("push", "dois"), prompt_row("push", "três", order_id="o-1")]
PARAPHRASE = replace(prompt_row("push", "outra de ana"), parent_id=OF_ANA.prompt_id)
WITH_PROMPTS = replace(ANA, prompts=frozenset({OF_ANA.prompt_id}))


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    folder = tmp_path / "dataset"
    write_prompts([*TRAIN, PARAPHRASE], folder / TRAIN_FILE)
    for split in ("validation", "test"):
        write_prompts([prompt_row("push", f"de {split}")], folder / "data" / f"{split}.parquet")
    dropped = prompt_table([prompt_row("push", "cópia", review_id="r-1"), prompt_row("push", "longa")])
    dropped = dropped.with_columns(row=pl.lit(1, pl.UInt32), reason=pl.lit("schema"), detail=pl.lit("longa"))
    dropped.select(list(QUARANTINE_COLUMNS)).write_parquet(folder / QUARANTINE_FILE)
    summary = DATASET_SUMMARY.model_copy(
        update={
            "train": 5,
            "validation": 1,
            "test": 1,
            "tasks": {"push": {"train": 5, "validation": 1, "test": 1}},
            "reasons": {"schema": {"push": 2}},
            "sources": {"simulated": 7},
        }
    )
    summary.write(folder)
    return folder


def forget(dataset: Path, output: Path, person: Person = WITH_PROMPTS) -> Path:
    output.mkdir()
    without_person(dataset, person, output)
    return output


def test_their_rows_leave_empty_places(dataset: Path, tmp_path: Path) -> None:
    made = forget(dataset, tmp_path / "made")
    assert read_prompts(made / TRAIN_FILE) == [TRAIN[0], TRAIN[2]]
    vacancies = read_vacancies(made)
    assert [(vacancy.place, vacancy.task) for vacancy in vacancies] == [(1, "push"), (3, "push"), (4, "push")]
    assert with_vacancies(read_prompts(made / TRAIN_FILE), vacancies)[2] == TRAIN[2]


def test_what_a_second_one_leaves_is_beside_what_the_first_left(dataset: Path, tmp_path: Path) -> None:
    first = forget(dataset, tmp_path / "first")
    other = Person(frozenset(), frozenset(), frozenset(), frozenset({TRAIN[2].prompt_id}))
    second = forget(first, tmp_path / "second", other)
    assert [vacancy.place for vacancy in read_vacancies(second)] == [1, 2, 3, 4]
    assert read_prompts(second / TRAIN_FILE) == [TRAIN[0]]


def test_the_quarantine_and_the_counts_are_without_them(dataset: Path, tmp_path: Path) -> None:
    made = forget(dataset, tmp_path / "made")
    assert pl.read_parquet(made / QUARANTINE_FILE)["prompt"].to_list() == ["longa"]
    summary = DatasetSummary.read(made)
    assert (summary.train, summary.validation, summary.test, summary.quarantined) == (2, 1, 1, 1)
    assert summary.tasks["push"]["train"] == 2
    assert summary.reasons == {"schema": {"push": 1}}
    assert summary.sources == {"simulated": 4}
    assert "| push | 2 | 1 | 1 |" in (made / "README.md").read_text(encoding="utf-8")


def test_what_people_gave_and_what_nobody_knows_is_counted_without_them(dataset: Path, tmp_path: Path) -> None:
    nothing = {"polarity": None, "score": None}
    rows = [
        prompt_row("sentiment", "de ana, dita", {"polarity": "positive", "score": None}, customer_id="ana"),
        prompt_row("sentiment", "de ana, calada", nothing, customer_id="ana"),
        prompt_row("sentiment", "de outra, dita", {"polarity": None, "score": 5}),
        prompt_row("sentiment", "de outra, calada", nothing),
    ]
    write_prompts(rows, dataset / "data" / "test.parquet")
    said = [{"prompt_id": row.prompt_id, "task": "sentiment", "rater": "bia"} for row in (rows[0], rows[2], TRAIN[0])]
    references = [{"polarity": "positive"}, {"score": 5}, {"score": 1}]
    lines = [json.dumps(each | {"reference": given}) + "\n" for each, given in zip(said, references, strict=True)]
    file = tmp_path / "references.jsonl"
    file.write_text("".join(lines), encoding="utf-8")
    DatasetSummary.read(dataset).model_copy(
        update={
            "without_reference": {"sentiment": {"test": 2}},
            "references_by_people": {"sentiment": {"validation": 0, "test": 2}},
            "references_left_out": 1,
        }
    ).write(dataset)
    assert remove_given(file, {rows[0].prompt_id, rows[1].prompt_id}) == 1
    assert file.read_text(encoding="utf-8") == "".join(lines[1:])
    (tmp_path / "made").mkdir()
    without_person(dataset, WITH_PROMPTS, tmp_path / "made", file)
    summary = DatasetSummary.read(tmp_path / "made")
    assert summary.without_reference == {"sentiment": {"test": 1}}
    assert summary.references_by_people == {"sentiment": {"validation": 0, "test": 1}}
    assert summary.references_left_out == 1
    assert remove_given(file, {rows[2].prompt_id, TRAIN[0].prompt_id}) == 2
    assert (remove_given(file, {rows[2].prompt_id}), file.read_bytes()) == (0, b"")
    assert read_references(file).by_prompt == {}


def test_too_few_of_a_task_are_refused_before_anything_is_written(dataset: Path) -> None:
    rows = read_prompts(dataset / TRAIN_FILE)
    everybody = Person(frozenset(), frozenset(), frozenset(), frozenset(row.prompt_id for row in rows))
    refuse_too_few(dataset, WITH_PROMPTS, 2)
    with pytest.raises(InputError, match="the train split has 2 push prompts left, and needs 3"):
        refuse_too_few(dataset, WITH_PROMPTS, 3)
    with pytest.raises(InputError, match="the train split has 0 push prompts left"):
        refuse_too_few(dataset, everybody, 1)


def test_a_split_that_had_too_few_before_is_no_reason(dataset: Path) -> None:
    refuse_too_few(dataset, Person(frozenset({"bia"}), frozenset(), frozenset(), frozenset()), 100)
