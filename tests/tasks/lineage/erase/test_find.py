"""A person's data is found in every row of theirs and every model that learned from one, and nobody else's is."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from schemas.errors import InputError
from tasks.lineage.erase.find import Reached, reached
from tasks.lineage.store.artifacts import RECORD_FILE, ArtifactStore
from tasks.lineage.store.inventory import Inventory, read_inventory
from tests.tasks.lineage.made import commit
from tests.tasks.lineage.small_world import ANA, BIA, HELD_OUT, PARAPHRASE, SCRUBBED, TRAINED, World


def rows(world: World, found: Reached, stage: str) -> dict[str | None, int]:
    return {place.file: place.rows for place in found.places if place.sha256 == world.made[stage].sha256}


def test_a_person_is_found_in_every_table_and_in_every_model(world: World) -> None:
    found = reached(world.inventory, ANA)
    assert (found.kinds, found.doubts) == (("customer_unique_id",), ())
    assert found.person.customers == {"cus1"} and found.person.orders == {"ord1"} and found.person.reviews == {"rev1"}
    assert found.person.prompts == {TRAINED.prompt_id, PARAPHRASE.prompt_id}
    store = {f"store/olist_{table}_dataset.csv": 1 for table in ("customers", "orders", "order_reviews")}
    assert rows(world, found, "synthesize") == {"prompts.parquet": 2, **store}
    assert rows(world, found, "curate") == {"data/train.parquet": 2}
    assert rows(world, found, "train") == {"rollouts/step-000001-000006.parquet": 4, None: 0}
    for stage in ("base", "answer-tuned", "evaluate", "promote"):
        assert rows(world, found, stage) == {None: 0}


def test_an_order_is_its_review_and_its_own_customer_and_no_more_of_the_person(world: World) -> None:
    found = reached(world.inventory, "ord2")
    assert found.kinds == ("order_id",)
    assert found.person.customers == {"cus2"} and found.person.orders == {"ord2"} and found.person.reviews == {"rev2"}
    assert HELD_OUT.prompt_id not in found.person.prompts
    assert SCRUBBED.prompt_id in found.person.prompts


def test_test_rows_taught_no_model(world: World) -> None:
    found = reached(world.inventory, BIA)
    assert rows(world, found, "curate") == {"data/test.parquet": 1, "quarantine.parquet": 1}
    assert rows(world, found, "evaluate") == {"base.scores.jsonl": 1, "tuned.scores.jsonl": 1}
    assert rows(world, found, "base") == rows(world, found, "train") == rows(world, found, "promote") == {}


def test_a_base_that_is_only_fetched_learned_from_nobody(own: World) -> None:
    store, dataset = ArtifactStore(own.root), own.made["curate"]
    fetched = commit(store, "base", {"weights": b"hub"}, {"dataset": dataset})
    rollouts = {"rollouts/s.parquet": pl.DataFrame({"prompt_id": ["p-other"]})}
    policy = commit(store, "policy", rollouts, {"base": fetched, "dataset": dataset})
    assert {fetched.sha256, policy.sha256}.isdisjoint(place.sha256 for place in reached(own.inventory, ANA).places)


def test_a_shop_that_brings_prompts_and_no_store_is_searched_too(tmp_path: Path) -> None:
    columns = ("prompt_id", "parent_id", "customer_id")
    prompts = [("first", None, "ana"), ("of first", "first", None), ("of that", "of first", None), ("one", None, "rui")]
    commit(ArtifactStore(tmp_path), "prompts", {"prompts.parquet": pl.DataFrame(prompts, columns, orient="row")})
    found = reached(read_inventory(tmp_path), "ana")
    assert found.kinds == ("customer_id",) and found.person.prompts == {"first", "of first", "of that"}


def test_a_damaged_record_and_a_lost_artifact_are_doubts(own: World) -> None:
    shutil.rmtree(own.root / "plan" / own.made["plan"].sha256)
    file = own.root / "policy" / own.made["train"].sha256 / RECORD_FILE
    file.chmod(0o644)
    file.write_bytes(b" " + file.read_bytes())
    damaged, lost = reached(own.inventory, ANA).doubts
    assert f"policy {own.made['train'].sha256[:12]} cannot be read" in damaged
    assert f"the store has the plan {own.made['plan'].sha256[:12]} of answers" in lost
    with pytest.raises(InputError, match=r"besides, 2 artifacts are lost or cannot be read whole"):
        reached(own.inventory, "nobody")


@pytest.fixture
def counted(tmp_path: Path) -> Inventory:
    """A shop that counts from 1: person 1 has order 2 as customer 2, person 2 has order 1 as customer 1."""
    customers = pl.DataFrame({"customer_id": ["2", "1"], "customer_unique_id": ["1", "2"]})
    orders = pl.DataFrame({"order_id": ["2", "1"], "customer_id": ["2", "1"]})
    columns = ("prompt_id", "customer_id", "order_id")
    prompts = pl.DataFrame([("of-1", "1", "2"), ("of-2", "2", "1")], columns, orient="row")
    files = {"prompts.parquet": prompts, "store/customers.csv": customers, "store/orders.csv": orders}
    commit(ArtifactStore(tmp_path), "prompts", files)
    return read_inventory(tmp_path)


def test_an_id_of_two_things_is_refused_until_its_kind_is_said(counted: Inventory) -> None:
    with pytest.raises(InputError, match=r"customer_unique_id and order_id.*--kind customer\|order"):
        reached(counted, "1")
    for kind, column, order, prompt in (
        ("customer", "customer_unique_id", "2", "of-1"),
        ("order", "order_id", "1", "of-2"),
    ):
        found = reached(counted, "1", kind)  # type: ignore[arg-type]
        assert found.kinds == (column,) and found.person.orders == {order} and found.person.prompts == {prompt}
        # One customer column finds no row by the ids of the other.
        rows_of = {place.file: place.rows for place in found.places}
        assert rows_of == {"prompts.parquet": 1, "store/customers.csv": 1, "store/orders.csv": 1}
    with pytest.raises(InputError, match="as review_id;"):
        reached(counted, "1", "review")
