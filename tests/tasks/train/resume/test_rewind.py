"""Rewinding: a checkpoint from before a row's turn becomes one of a training without it, and no later one does."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import polars as pl
import pytest

from schemas.store.files import write_store
from schemas.tables.prompts import PromptRow
from schemas.tables.vacancies import Vacancy
from tasks.synthesize.simulated import simulate_store
from tasks.train.prompt_source import PromptSource
from tasks.train.resume.rewind import SAMPLING_FILE, Rewinding, earns_the_same
from tests.tasks.curate.prompt_rows import prompt_row

ROWS = [prompt_row("push", f"pergunta {number}") for number in range(8)]
SEED = 4
ORDER = [row.prompt_id for row in PromptSource(ROWS, SEED).draw(8)]
GONE = ROWS.index(next(row for row in ROWS if row.prompt_id == ORDER[5]))
"""Place of the row whose turn is the sixth."""
LEFT = [row for place, row in enumerate(ROWS) if place != GONE]
WITHOUT = (LEFT, (Vacancy(GONE, "push"),))


def sampling(rows: list[PromptRow], vacancies: tuple[Vacancy, ...], drawn: int) -> dict[str, object]:
    """Return the state of a trainer that drew so many prompts."""
    source = PromptSource(rows, SEED, vacancies)
    source.draw(drawn)
    return {"sampler": {"prompts": source.state_dict(), "resampled": 0}, "updates": 1}


@pytest.mark.parametrize(("drawn", "before"), [(0, True), (5, True), (6, False), (20, False)])
def test_only_what_was_saved_before_the_rows_turn_counts(drawn: int, before: bool) -> None:
    state = json.dumps(sampling(ROWS, (), drawn)).encode()
    assert Rewinding((ROWS, ()), WITHOUT, SEED).is_before(state) is before


def test_it_becomes_the_checkpoint_of_a_training_without_the_row(tmp_path: Path) -> None:
    (tmp_path / SAMPLING_FILE).write_text(json.dumps(sampling(ROWS, (), 4)), encoding="utf-8")
    Rewinding((ROWS, ()), WITHOUT, SEED).rewrite(tmp_path)
    assert (tmp_path / SAMPLING_FILE).read_text(encoding="utf-8") == json.dumps(sampling(*WITHOUT, 4))


def test_a_place_that_was_empty_before_does_not_count() -> None:
    other = Vacancy(0 if GONE else 1, "push")
    left = [row for place, row in enumerate(ROWS) if place not in {GONE, other.place}]
    state = json.dumps(sampling(*WITHOUT, 7)).encode()
    assert Rewinding(WITHOUT, WITHOUT, SEED).is_before(state)
    assert not Rewinding(WITHOUT, (left, (WITHOUT[1][0], other)), SEED).is_before(state)


def test_a_query_that_earns_otherwise_on_the_other_store_is_noticed(tmp_path: Path) -> None:
    """Where every order is delivered, counting all is as right as counting those that are."""
    store = simulate_store(60, Random("1"))
    one_is_not = pl.int_range(pl.len()) == 0
    for name, status in (("before", "delivered"), ("other", "canceled")):
        orders = store.orders.with_columns(
            order_status=pl.when(one_is_not).then(pl.lit(status)).otherwise(pl.lit("delivered")),
            order_delivered_customer_date=pl.col("order_estimated_delivery_date").dt.offset_by("60d"),
        )
        write_store(replace(store, orders=orders), tmp_path / name)
    counted = "SELECT COUNT(*) FROM orders"
    asked = prompt_row("sql_qa", "Quantos?", {"sql": f"{counted} WHERE order_status = 'delivered'"})
    rows = [[asked.prompt_id, "sql_qa", 1, 0, counted, {}, 1.0, 0.0, 3, "end", False]]
    (tmp_path / "rollouts.json").write_text(json.dumps({"rows": rows}), encoding="utf-8")
    stores = tmp_path / "before", tmp_path / "other"
    assert earns_the_same(tmp_path, [asked], (stores[0], stores[0]), "grounded")
    assert not earns_the_same(tmp_path, [asked], stores, "grounded")
