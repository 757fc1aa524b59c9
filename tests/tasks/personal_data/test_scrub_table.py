"""Scrubbed tables: what held something personal is changed and renamed, and nothing else is touched."""

import random
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.tables.prompts import COLUMNS, PromptRow, canonical_json, content_id, ids_that_fit
from schemas.tasks import TASK_NAMES
from tasks.curate.quarantine import SCHEMA, quarantined
from tasks.personal_data.scrub import LEAST_PERSONAL, Kind, personal_identifiers, scrub
from tasks.personal_data.scrub_table import scrub_broken, scrub_prompts, scrub_store, scrubbed_rows
from tasks.synthesize.simulated import simulate_store
from tests.prompt_tables import prompt_table
from tests.tasks.curate.prompt_rows import prompt_row

TEXT_COLUMNS = [name for name in COLUMNS if name != "prompt_id"]
CPF, CARD, PHONE = "529.982.247-25", "4111 1111 1111 1111", "(11) 98765-4321"
PERSONAL = st.sampled_from([CPF, CARD, "ana@example.com", "(11) 98765-4321", "https://loja.example/?token=abc123"])
TEXTS = st.lists(st.text(max_size=8) | PERSONAL, min_size=1, max_size=3).map(" ".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def rows(draw: st.DrawFn) -> PromptRow:
    task, system, prompt = draw(st.sampled_from(TASK_NAMES)), draw(TEXTS), draw(TEXTS)
    known = draw(st.dictionaries(TEXTS, VALUES, max_size=3))
    customer, parent = draw(st.none() | st.just("c1")), draw(st.none() | st.just("0" * 64))
    identity = content_id(task, system, prompt, known)
    return PromptRow(identity, task, system, prompt, known, "own", customer, "o1", None, parent)


def clean(value: Any) -> Any:
    """Return what must be left of a value, in the plainest way."""
    if isinstance(value, str):
        return scrub(value)[0]
    if isinstance(value, list):
        return [clean(part) for part in value]
    if type(value) is int and value >= LEAST_PERSONAL and clean(str(value)) != str(value):
        return clean(str(value))
    return {clean(key): clean(part) for key, part in sorted(value.items())} if isinstance(value, dict) else value


def replaced_in(value: Any) -> Counter[str]:
    if isinstance(value, str):
        return Counter(scrub(value)[1])
    if type(value) is int and value >= LEAST_PERSONAL:
        return replaced_in(str(value))
    parts = value if isinstance(value, list) else [*value, *value.values()] if isinstance(value, dict) else []
    return sum(map(replaced_in, parts), Counter())


@pytest.mark.slow
@given(st.lists(rows(), max_size=4))
def test_rows_with_something_personal_change_and_no_others(given_rows: list[PromptRow]) -> None:
    scrubbed, wanted = scrub_prompts(prompt_table(given_rows)), []
    for row in given_rows:
        system, prompt, known = clean(row.system), clean(row.prompt), clean(row.reference)
        same = (system, prompt, known) == (row.system, row.prompt, row.reference)
        identity = row.prompt_id if same else content_id(row.task, system, prompt, known)
        wanted.append(replace(row, prompt_id=identity, system=system, prompt=prompt, reference=known))
    assert scrubbed.table.equals(prompt_table(wanted))
    pairs = zip(given_rows, wanted, strict=True)
    assert scrubbed.renamed == {old.prompt_id: new.prompt_id for old, new in pairs if old != new}
    assert scrubbed.replaced == replaced_in([[row.system, row.prompt, row.reference] for row in given_rows])
    streamed: Counter[Kind] = Counter()
    assert [*scrubbed_rows(given_rows, streamed)] == wanted and streamed == scrubbed.replaced


def test_texts_within_references_and_their_keys_are_scrubbed() -> None:
    known = {"churn": True, CPF: 1, "notes": [{"who": [f"CPF {CPF}", 3, None, 52998224725]}]}
    scrubbed = scrub_prompts(prompt_table([prompt_row("churn", "Vai voltar?", known)]))
    left = {"churn": True, "[CPF]": 1, "notes": [{"who": ["CPF [CPF]", 3, None, "[CPF]"]}]}
    assert scrubbed.table["reference"].to_list() == [canonical_json(left)]
    assert scrubbed.table["prompt_id"].to_list() == [content_id("churn", "Responda.", "Vai voltar?", left)]
    assert scrubbed.replaced == {"CPF": 3}
    escaped = pl.lit(r'{"x":"529.982.247\u002d25"}')
    table = prompt_table([prompt_row("churn", "Fica?")]).with_columns(reference=escaped)
    assert scrub_prompts(table).table["reference"].to_list() == ['{"x":"[CPF]"}']


def broken(*given_rows: dict[str, str | None]) -> pl.DataFrame:
    table = pl.DataFrame(given_rows, schema=COLUMNS).with_row_index("row", offset=7)
    return quarantined(table.select(*COLUMNS, "row"), SCHEMA, ["prompt_id: str_matches"] * len(given_rows))


UNFIT_ROWS = st.fixed_dictionaries(dict.fromkeys(COLUMNS, st.none() | TEXTS))
FIT_BUT_FOR_THEIR_SOURCE = rows().map(
    lambda row: {**vars(row), "reference": canonical_json(row.reference), "source": "De quem?"}
)


@given(st.lists(UNFIT_ROWS | FIT_BUT_FOR_THEIR_SOURCE, max_size=4))
def test_a_broken_row_keeps_its_id_where_it_is_that_of_what_stays(given_rows: list[dict[str, str | None]]) -> None:
    table = broken(*given_rows)
    scrubbed = scrub_broken(table)
    for row, kept in zip(given_rows, scrubbed.table.to_dicts(), strict=True):
        left = {name: left_of(name, text) for name, text in row.items()}
        assert {name: kept[name] for name in TEXT_COLUMNS} == {name: left[name] for name in TEXT_COLUMNS}
        is_kept = left == row and ids_that_fit(pl.DataFrame([row], schema=COLUMNS)).item()
        assert (kept["prompt_id"] == row["prompt_id"]) is is_kept
        assert is_kept or re.fullmatch(r"[0-9a-f]{64}", kept["prompt_id"])
    known = {row["prompt_id"]: kept for row, kept in zip(given_rows, scrubbed.table["prompt_id"], strict=True)}
    assert all(known[old] == new for old, new in scrubbed.renamed.items())
    assert scrubbed.table.drop("prompt_id", *TEXT_COLUMNS).equals(table.drop("prompt_id", *TEXT_COLUMNS))
    texts = [[text for name, text in row.items() if left_of(name, text) != text] for row in given_rows]
    assert scrubbed.replaced == replaced_in(texts)


def left_of(name: str, text: str | None) -> str | None:
    if text is None or (name.endswith("_id") and not personal_identifiers(pl.Series(name, [text])).any()):
        return text
    return scrub(text)[0]


def test_texts_and_names_of_products_of_a_store_are_scrubbed_and_still_join() -> None:
    store, replaced = simulate_store(200, random.Random(0)), Counter[Kind]()
    one, other, code = store.products["product_id"][:3]
    named = {one: f"Caneca de {PHONE}", other: "Caneca de (21) 99876-1234", code: "7891000315507"}
    items, products = (each.with_columns(pl.col("product_id").replace(named)) for each in (store.items, store.products))
    reviews = store.reviews.with_columns(review_comment_message=pl.lit(f"Liguem: {PHONE}"))
    customers = store.customers.with_columns(customer_city=pl.lit(f"Recife, {CPF}"))
    changed = replace(store, items=items, products=products, customers=customers, reviews=reviews)
    found = scrub_store(changed, replaced)
    assert found.products.height == store.products.height - 1
    assert {"Caneca de [TELEFONE]", "7891000315507"} <= {*found.products["product_id"]}
    assert found.items["product_id"].is_in(found.products["product_id"].implode()).all()
    assert {*found.reviews["review_comment_message"]} == {"Liguem: [TELEFONE]"}
    assert {*found.customers["customer_city"]} == {"Recife, [CPF]"}
    assert {*replaced} == {"TELEFONE", "CPF"}
