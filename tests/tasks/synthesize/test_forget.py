"""Prompts without a person: their prompts are gone, their rows of the store are nobody's, and no figure changes."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from schemas.store.files import read_store
from schemas.store.store import Person
from schemas.tables.prompts import PromptRow, read_prompts
from schemas.tables.summaries import PromptsSummary
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.synthesize.forget import without_person
from tests.tasks.synthesize.test_stage import synthesize

SECRET = b"secret"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthesize(tmp_path_factory.mktemp("made") / "prompts")


@pytest.fixture(scope="module")
def person(made: Path) -> Person:
    """The person with the most prompts, as lineage finds them."""
    rows = read_prompts(made / "prompts.parquet")
    somebody = Counter(row.customer_id for row in rows if row.review_id is not None).most_common(1)[0][0]
    store = read_store(made / "store")
    customers = store.customers.filter(pl.col("customer_unique_id") == somebody)["customer_id"]
    orders = store.orders.filter(pl.col("customer_id").is_in(customers.implode()))["order_id"]
    reviews = store.reviews.filter(pl.col("order_id").is_in(orders.implode()))["review_id"]
    prompts = [row.prompt_id for row in rows if row.customer_id == somebody]
    people, of_orders = frozenset({str(somebody)}), frozenset(customers)
    return Person(people, frozenset(orders), frozenset(reviews), frozenset(prompts), of_orders)


@pytest.fixture(scope="module")
def without(made: Path, person: Person, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("without")
    without_person(made, person, SECRET, folder)
    return folder


def test_their_prompts_are_gone_and_others_are_as_they_were(made: Path, without: Path, person: Person) -> None:
    def others(rows: list[PromptRow]) -> list[PromptRow]:
        return [row for row in rows if row.prompt_id not in person.prompts]

    before, after = (read_prompts(folder / "prompts.parquet") for folder in (made, without))
    assert after == others(before) != before
    summaries = PromptsSummary.read(made), PromptsSummary.read(without)
    assert sum(summaries[0].made.values()) - sum(summaries[1].made.values()) == len(person.prompts)


def test_no_id_of_theirs_and_no_word_is_in_any_file(made: Path, without: Path, person: Person) -> None:
    store = read_store(made / "store")
    said = store.reviews.filter(pl.col("review_id").is_in(sorted(person.reviews)))["review_comment_message"]
    assert said.drop_nulls().len()
    whole = b"".join(file.read_bytes() for file in (without / "store").rglob("*") if file.is_file())
    for gone in (*person.people, *person.customers, *person.orders, *person.reviews, *said.drop_nulls()):
        assert gone.encode() not in whole, gone


def test_their_place_is_nowhere_and_others_live_where_they_did(made: Path, without: Path, person: Person) -> None:
    before, after = (read_store(folder / "store").customers for folder in (made, without))
    theirs = before["customer_id"].is_in(sorted(person.customers))
    places = ("customer_city", "customer_zip_code_prefix")
    assert set(after.filter(theirs).select(places).unique().row(0)) == {"-"}
    assert after.filter(~theirs).equals(before.filter(~theirs))


def test_every_table_has_its_rows_and_its_links_and_sums(made: Path, without: Path) -> None:
    before, after = read_store(made / "store"), read_store(without / "store")
    for name in ("orders", "items", "payments", "reviews", "customers", "products", "sellers"):
        assert getattr(before, name).height == getattr(after, name).height
    assert before.payments["payment_value"].to_list() == after.payments["payment_value"].to_list()
    assert before.orders.drop("order_id", "customer_id").equals(after.orders.drop("order_id", "customer_id"))
    Databases.from_store(after)
