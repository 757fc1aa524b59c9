"""Rewinding: what is said before nothing is changed is what is then done, whatever the checkpoints are like."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import polars as pl
import pytest

from flows.runtime.session import mirror_address
from flows.runtime.stores import open_store
from flows.stages.rewind import CHOSEN_BY, NEWEST, NONE_LEFT, SHOWN, ended, foreseen, rewind
from flows.stages.runner import StageResult
from flows.stages.train import training_name
from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.store.files import write_store
from schemas.tables.person import Person
from schemas.tables.prompts import PromptRow
from schemas.tables.vacancies import Vacancy, write_vacancies
from tasks.checkpoints.address import open_mirror
from tasks.lineage.erase.forgetting import Retraced
from tasks.synthesize.simulated import simulate_store
from tasks.train.prompt_source import PromptSource
from tasks.train.resume.rewind import SAMPLING_FILE
from tests.prompt_tables import write_prompts
from tests.tasks.checkpoints.checkpoint_folders import sealed_folder
from tests.tasks.curate.prompt_rows import prompt_row

COUNTED = "SELECT COUNT(*) FROM orders"
QUERY = prompt_row("sql_qa", "Quantos?", {"sql": f"{COUNTED} WHERE order_status = 'delivered'"})
PUSHES = [prompt_row("push", f"pergunta {number}") for number in range(7)]
ROWS = [*PUSHES, QUERY]
VALIDATED = prompt_row("push", "uma pergunta de validação")
SEEDS = (1, 2)
STEPS = (2, 4, 6, 7)
"""A checkpoint each; the last is where the training ended, which no multiple of `save_every` is. A step draws one."""


@dataclass(frozen=True)
class Shop:
    """What models were trained from, and what they are trained from now."""

    config: Config
    before: dict[str, ArtifactRecord]
    base: StageResult


def commit(config: Config, kind: ArtifactKind, files: Path, **inputs: str) -> StageResult:
    store = open_store(config)
    with store.draft() as draft:
        for file in (path for path in files.rglob("*") if path.is_file()):
            (draft / file.relative_to(files)).parent.mkdir(parents=True, exist_ok=True)
            (draft / file.relative_to(files)).write_bytes(file.read_bytes())
        record = store.commit(draft, kind=kind, stage=kind, code_version="c", config_digest="d", inputs=inputs)
    return StageResult(record, store.path(record.sha256), 0.0, reused=False)


def write_data(
    folder: Path, rows: Sequence[PromptRow], status: str, *vacancies: Vacancy, to_choose: bool = True
) -> Path:
    """Write prompts with a store in which one order has a status, and a dataset with rows and vacancies."""
    store = simulate_store(40, Random("1"))
    orders = store.orders.with_columns(
        order_status=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit(status)).otherwise(pl.lit("delivered")),
        order_delivered_customer_date=pl.col("order_estimated_delivery_date").dt.offset_by("60d"),
    )
    write_store(replace(store, orders=orders), folder / "prompts" / "store")
    write_prompts(rows, folder / "dataset" / "data" / "train.parquet")
    write_prompts([VALIDATED] if to_choose else [], folder / "dataset" / "data" / "validation.parquet")
    write_vacancies(folder / "dataset", vacancies)
    return folder


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Two trainings that ended at step 7; from step 6 on, each has asked a query."""
    settings = ["train.max_steps=10", "train.save_every=2", f"train.seeds={list(SEEDS)}", "warm_start.steps=0"]
    config = load_config("local", [f"state.root={tmp_path / 'state'}", *settings])
    files = write_data(tmp_path / "before", ROWS, "delivered")
    prompts = commit(config, "prompts", files / "prompts").record
    dataset = commit(config, "dataset", files / "dataset", prompts=prompts.sha256).record
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "weights").write_text("w", encoding="utf-8")
    base = commit(config, "base", tmp_path / "base", dataset=dataset.sha256)
    before = {"prompts": prompts, "dataset": dataset}
    for seed in SEEDS:
        mirror = open_mirror(mirror_address(config), training_name(config, seed, {**before, "base": base.record}))
        for step in STEPS:
            source = PromptSource(ROWS, seed, ())
            source.draw(step)
            asked = [[QUERY.prompt_id, "sql_qa", 6, 0, COUNTED, {}, 1.0, 0.0, 3, "end", False]] if step >= 6 else []
            files_of_step = {
                SAMPLING_FILE: json.dumps({"sampler": {"prompts": source.state_dict()}}).encode(),
                "rollouts.json": json.dumps({"rows": asked}).encode(),
            }
            sealed = sealed_folder(step, files_of_step, 1, mirror.training, base.record.sha256)
            manifest = mirror.publish(sealed)
        mirror.pin("final", manifest)
    return Shop(config, before, base)


def said(retraced: Sequence[Retraced]) -> list[tuple[int, int, str]]:
    return [(each.from_step, each.steps, each.why) for each in retraced]


def foreseen_and_done(
    shop: Shop, data: Path, person: Person, base: StageResult | None = None
) -> list[tuple[int, int, str]]:
    """Return what a dry run says, after comparing it with what is then done."""
    config, mirror = shop.config, Path(mirror_address(shop.config))
    folders = {role: data / role for role in ("prompts", "dataset")}
    files = sorted(mirror.rglob("*"))
    before = foreseen(config, shop.before, folders, person)
    assert sorted(mirror.rglob("*")) == files
    prompts = commit(config, "prompts", folders["prompts"])
    dataset = commit(config, "dataset", folders["dataset"], prompts=prompts.record.sha256)
    done = rewind(config, shop.before, {"prompts": prompts, "dataset": dataset, "base": base or shop.base})
    assert said(before) == said(done)
    for each in done:
        newest = open_mirror(str(mirror), each.training).manifests()[:1]
        assert [manifest.step for manifest in newest] == ([each.from_step] if each.from_step else [])
    return said(done)


def without(folder: Path, gone: PromptRow, status: str = "delivered") -> Path:
    place = ROWS.index(gone)
    return write_data(folder, [row for row in ROWS if row != gone], status, Vacancy(place, gone.task))


def person_of(row: PromptRow) -> Person:
    return Person(frozenset(), frozenset(), frozenset(), frozenset({row.prompt_id}))


@pytest.mark.parametrize("gone", PUSHES, ids=range(len(PUSHES)))
def test_what_is_said_is_done_whenever_the_rows_have_their_turn(shop: Shop, tmp_path: Path, gone: PromptRow) -> None:
    turns = [
        [row.prompt_id for row in PromptSource(ROWS, seed).draw(len(ROWS))].index(gone.prompt_id) for seed in SEEDS
    ]
    left = [max([step for step in STEPS if step <= turn], default=0) for turn in turns]
    found = foreseen_and_done(shop, without(tmp_path / "after", gone), person_of(gone))
    # What had ended before their turn is not trained again; all else may go on as far as the recipe does.
    assert found == [(step, 7 if step == 7 else 10, NEWEST if step else NONE_LEFT) for step in left]


def test_a_query_that_earns_otherwise_without_the_rows_counts_before_as_well(shop: Shop, tmp_path: Path) -> None:
    last = [PromptSource(ROWS, seed).draw(len(ROWS))[-1] for seed in SEEDS]
    found = foreseen_and_done(shop, without(tmp_path / "after", last[0], status="canceled"), person_of(last[0]))
    assert found[0] == (4, 10, NEWEST)


def test_a_damaged_checkpoint_is_passed_over_by_both(shop: Shop, tmp_path: Path) -> None:
    last = PromptSource(ROWS, SEEDS[0]).draw(len(ROWS))[-1]
    name = training_name(shop.config, SEEDS[0], {**shop.before, "base": shop.base.record})
    mirror = open_mirror(mirror_address(shop.config), name)
    newest, second, *_ = mirror.manifests()
    blob = newest.files[SAMPLING_FILE].sha256
    (file,) = (path for path in Path(mirror_address(shop.config)).rglob(blob) if path.is_file())
    file.write_bytes(file.read_bytes() + b" ")
    found = foreseen_and_done(shop, without(tmp_path / "after", last), person_of(last))
    assert found[0] == (second.step, 10, NEWEST)


def test_another_base_or_other_validation_begins_at_the_start_in_both(shop: Shop, tmp_path: Path) -> None:
    gone = PUSHES[0]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "weights").write_text("other", encoding="utf-8")
    shown = replace(shop, config=shop.config.model_copy(update={"warm_start": load_config("local").warm_start}))
    other = commit(shop.config, "base", tmp_path / "other")
    found = foreseen_and_done(shown, without(tmp_path / "after", gone), person_of(gone), other)
    assert found == [(0, 10, SHOWN)] * 2
    chosen = write_data(tmp_path / "chosen", ROWS, "delivered", to_choose=False)
    assert foreseen_and_done(shop, chosen, person_of(VALIDATED)) == [(0, 10, CHOSEN_BY)] * 2


def test_a_training_that_ended_early_is_reported_with_its_own_steps(shop: Shop) -> None:
    name = training_name(shop.config, SEEDS[0], {**shop.before, "base": shop.base.record})
    planned = [
        Retraced(training=name, steps=10, from_step=4, why=""),
        Retraced(training="none", steps=10, from_step=0, why=""),
    ]
    assert [each.steps for each in ended(shop.config, planned)] == [7, 10]
