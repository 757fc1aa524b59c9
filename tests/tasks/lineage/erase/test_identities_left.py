"""Identities left after a removal: each id of a person is looked for in every table, by its hash alone."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from schemas.tables.person import Person
from tasks.lineage.erase.forget import reached
from tasks.lineage.erase.identities_left import hashed_identities, identities_left
from tasks.lineage.erase.removal_plan import planned
from tasks.lineage.erase.report import ROWS_PROOF, as_report
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.lineage.store.inventory import read_inventory
from tests.tasks.lineage.made import commit
from tests.tasks.lineage.small_world import ANA, make_world

SECRET = b"s" * 32
PERSON = Person(frozenset({"1"}), frozenset({"o-1"}), frozenset({"r-1"}), frozenset({"p-1"}), frozenset({"c-1"}))


def left(root: Path, file: str, table: pl.DataFrame) -> list[str]:
    commit(ArtifactStore(root), "prompts", {file: table})
    return list(identities_left(read_inventory(root), hashed_identities(PERSON, SECRET), SECRET))


@pytest.mark.parametrize(
    ("column", "value", "found"),
    [
        ("customer_unique_id", "1", True),
        ("customer_id", "c-1", True),
        ("customer_id", "1", False),
        ("order_id", "o-1", True),
        ("review_id", "r-1", True),
        ("parent_id", "p-1", True),
        ("order_id", "r-1", False),
    ],
)
def test_each_id_is_found_in_its_own_column(tmp_path: Path, column: str, value: str, found: bool) -> None:
    sentences = left(tmp_path, "store/a.csv", pl.DataFrame({column: ["other", value]}))
    assert bool(sentences) is found
    assert all(f"1 of their ids as {column} in store/a.csv" in each for each in sentences)


def test_a_prompt_has_the_person_as_its_customer(tmp_path: Path) -> None:
    table = pl.DataFrame({"prompt_id": ["p-2", "p-3"], "customer_id": ["1", "c-1"]})
    (sentence,) = left(tmp_path, "prompts.parquet", table)
    assert "1 of their ids as customer_id" in sentence


def test_a_table_that_cannot_be_read_is_no_proof(tmp_path: Path) -> None:
    commit(ArtifactStore(tmp_path), "prompts", {"prompts.parquet": b"PAR1"})
    (sentence,) = identities_left(read_inventory(tmp_path), hashed_identities(PERSON, SECRET), SECRET)
    assert "cannot be read" in sentence


def test_the_proof_of_rows_is_given_only_where_nothing_was_left(tmp_path: Path) -> None:
    inventory = make_world(tmp_path).inventory
    state = planned(inventory, reached(inventory, ANA), "subject", "digest")
    assert list(identities_left(inventory, state.identities, bytes.fromhex(state.secret)))
    now = datetime(2026, 11, 27, tzinfo=UTC)
    assert ROWS_PROOF in as_report(state, (), now)["proof"]
    document = as_report(state.model_copy(update={"left": ("a table has them",)}), (), now)
    assert ROWS_PROOF not in document["proof"]
    assert document["not_reached"] == ["a table has them"]
