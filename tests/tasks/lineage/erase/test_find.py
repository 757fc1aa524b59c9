"""Whom a person's data reached: every row of theirs, every model that learned from one, and nobody else's."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from schemas.artifact import ArtifactRecord
from schemas.errors import InputError
from tasks.lineage.erase.find import Reached, reached
from tasks.lineage.store.artifacts import RECORD_FILE, ArtifactStore
from tasks.lineage.store.inventory import Inventory, read_inventory
from tests.tasks.lineage.made import commit

COLUMNS = ("prompt_id", "customer_id", "order_id", "review_id", "parent_id")
PROMPTS = [
    ("p-first", "ana", "o-1", "r-1", None),
    ("p-second", "ana", "o-2", "r-2", None),
    ("p-churn", "ana", None, None, None),
    ("p-other", "rui", "o-3", "r-3", None),
    ("p-aggregate", None, None, None, None),
    ("q-second", None, None, None, "p-second"),
    ("q-q-second", None, None, None, "q-second"),
    ("q-other", None, None, None, "p-other"),
]


def prompt_table(*prompts: str) -> pl.DataFrame:
    rows = [row for row in PROMPTS if row[0] in prompts]
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


def lines(*prompts: str) -> str:
    rollouts = ({"prompt_id": prompt, "reference": {"n": place}} for place, prompt in enumerate(prompts))
    return "".join(json.dumps(rollout) + "\n" for rollout in rollouts)


class World:
    """A store of two customers, and a model that was trained on the train split."""

    def __init__(self, root: Path, *, train: tuple[str, ...], test: tuple[str, ...], drawn: tuple[str, ...]) -> None:
        self.root = root
        self.store = store = ArtifactStore(root)
        own = [("oc-1", "ana"), ("oc-2", "ana"), ("oc-3", "rui")]
        customers = pl.DataFrame(own, schema=["customer_id", "customer_unique_id"], orient="row")
        orders = pl.DataFrame({"order_id": ["o-1", "o-2", "o-3"], "customer_id": ["oc-1", "oc-2", "oc-3"]})
        reviews = pl.DataFrame({"review_id": ["r-1", "r-2", "r-3"], "order_id": ["o-1", "o-2", "o-3"]})
        items = pl.DataFrame({"order_id": ["o-1", "o-1", "o-3"], "price": [1, 2, 3]})
        self.prompts = commit(
            store,
            "prompts",
            {
                "prompts.parquet": prompt_table(*(row[0] for row in PROMPTS)),
                "store/customers.csv": customers,
                "store/orders.csv": orders,
                "store/reviews.csv": reviews,
                "store/items.csv": items,
                "store/products.csv": pl.DataFrame({"product_id": ["o-1"]}),
            },
        )
        self.dataset = commit(
            store,
            "dataset",
            {
                "data/train.parquet": prompt_table(*train),
                "data/test.parquet": prompt_table(*test),
                "quarantine.parquet": prompt_table("p-churn"),
            },
            {"prompts": self.prompts},
        )
        self.base = commit(store, "base", {"weights": b"b", "warm_start.json": "{}"}, {"dataset": self.dataset})
        rollouts = pl.DataFrame({"prompt_id": drawn, "step": range(len(drawn))})
        self.policy = commit(
            store,
            "policy",
            {"weights": b"p", "rollouts/step-1.parquet": rollouts},
            {"dataset": self.dataset, "base": self.base},
        )
        self.answers = commit(store, "answers", {"rollouts.jsonl": lines(*test)}, {"policy": self.policy})
        self.evaluation = commit(
            store, "evaluation", {"tuned.scores.jsonl": lines(*test)}, {"answers-tuned": self.answers}
        )
        decision = json.dumps({"model": "loja", "version": "3"})
        self.promotion = commit(
            store,
            "promotion",
            {"decision.json": decision},
            {"policy": self.policy, "evaluation": self.evaluation},
        )

    @property
    def inventory(self) -> Inventory:
        return read_inventory(self.root)

    def made_at(self, record: ArtifactRecord, moment: datetime) -> None:
        """Let an artifact have been made then, as after an adoption from another machine."""
        home = self.store.path(record.sha256).parent
        moved = record.model_copy(update={"created_at": moment})
        with self.store.draft() as draft:
            shutil.copytree(home / "content", draft, dirs_exist_ok=True)
            shutil.rmtree(home)
            self.store.adopt(draft, moved)


@pytest.fixture
def world(tmp_path: Path) -> World:
    train = ("p-first", "q-q-second", "p-other")
    return World(tmp_path, train=train, test=("p-aggregate",), drawn=("p-first", "p-first", "p-other"))


def rows(found: Reached, record: ArtifactRecord) -> dict[str | None, int]:
    return {place.file: place.rows for place in found.places if place.sha256 == record.sha256}


def damage_record(world: World, record: ArtifactRecord) -> None:
    file = world.store.path(record.sha256).parent / RECORD_FILE
    file.chmod(0o644)
    file.write_bytes(b" " + file.read_bytes())


def test_a_person_is_found_in_every_table_and_in_every_model(world: World) -> None:
    found = reached(world.inventory, "ana")
    assert found.kinds == ("customer_unique_id",)
    assert (found.customers, found.orders, found.reviews) == (("oc-1", "oc-2"), ("o-1", "o-2"), ("r-1", "r-2"))
    assert found.prompts == ("p-churn", "p-first", "p-second", "q-q-second", "q-second")
    assert rows(found, world.prompts) == {
        "prompts.parquet": 5,
        "store/customers.csv": 2,
        "store/orders.csv": 2,
        "store/reviews.csv": 2,
        "store/items.csv": 2,
    }
    assert rows(found, world.dataset) == {"data/train.parquet": 2, "quarantine.parquet": 1}
    assert rows(found, world.base) == {None: 0}
    assert rows(found, world.policy) == {"rollouts/step-1.parquet": 2, None: 0}
    for record in (world.answers, world.evaluation, world.promotion):
        assert rows(found, record) == {None: 0}
    assert found.models == ("loja/3",)


def test_an_order_is_its_review_and_its_own_customer_but_not_the_persons_other_orders(world: World) -> None:
    found = reached(world.inventory, "o-2")
    assert (found.kinds, found.customers, found.orders, found.reviews) == (("order_id",), ("oc-2",), ("o-2",), ("r-2",))
    assert found.prompts == ("p-second", "q-q-second", "q-second")
    assert rows(found, world.dataset) == {"data/train.parquet": 1}
    assert any("the person ana" in note for note in found.notes)


def test_test_rows_taught_no_model(tmp_path: Path) -> None:
    world = World(tmp_path, train=("p-first",), test=("p-other", "p-aggregate"), drawn=("p-first",))
    found = reached(world.inventory, "rui")
    assert rows(found, world.dataset) == {"data/test.parquet": 1}
    assert rows(found, world.answers) == {"rollouts.jsonl": 1}
    assert rows(found, world.evaluation) == {"tuned.scores.jsonl": 1}
    assert (rows(found, world.base), rows(found, world.policy), rows(found, world.promotion)) == ({}, {}, {})
    assert found.models == ()


def test_a_base_that_is_only_fetched_learned_from_nobody(world: World) -> None:
    fetched = commit(world.store, "base", {"weights": b"hub"}, {"dataset": world.dataset})
    policy = commit(
        world.store,
        "policy",
        {"rollouts/s.parquet": pl.DataFrame({"prompt_id": ["p-other"]})},
        {"base": fetched, "dataset": world.dataset},
    )
    found = reached(world.inventory, "ana")
    assert (rows(found, fetched), rows(found, policy)) == ({}, {})


def test_a_shop_that_brings_prompts_and_no_store_is_searched_too(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    own = commit(store, "prompts", {"prompts.parquet": prompt_table("p-first", "p-churn", "p-other")})
    found = reached(read_inventory(tmp_path), "ana")
    assert (found.kinds, found.prompts) == (("customer_id",), ("p-churn", "p-first"))
    assert rows(found, own) == {"prompts.parquet": 2}


def test_a_damaged_record_is_a_doubt(world: World) -> None:
    damage_record(world, world.policy)
    found = reached(world.inventory, "ana")
    assert found.models == ()
    (doubt,) = found.doubts
    assert f"policy {world.policy.sha256[:12]} cannot be read" in doubt
    assert "may have learned from them" in doubt
    assert doubt in found.notes
    assert rows(found, world.base) == {None: 0}


def test_a_lost_dataset_is_a_doubt(world: World) -> None:
    shutil.rmtree(world.store.path(world.dataset.sha256).parent)
    (doubt,) = reached(world.inventory, "r-2").doubts
    assert f"the store has the dataset {world.dataset.sha256[:12]} of base" in doubt


@pytest.mark.parametrize("late", ["base", "policy", "answers"])
def test_clocks_that_differ_hide_no_model(world: World, late: str) -> None:
    expected = {(place.sha256, place.file) for place in reached(world.inventory, "r-2").places}
    world.made_at(getattr(world, late), datetime(2099, 1, 1, tzinfo=UTC))
    found = reached(world.inventory, "r-2")
    assert {(place.sha256, place.file) for place in found.places} == expected
    assert found.models == ("loja/3",)


def test_an_unknown_person_is_reported(world: World) -> None:
    with pytest.raises(InputError, match=r"no table of the 7 artifacts has 'nobody' as customer_unique_id"):
        reached(world.inventory, "nobody")
    damage_record(world, world.policy)
    with pytest.raises(InputError, match=r"besides, 1 artifacts are lost or cannot be read whole"):
        reached(world.inventory, "nobody")
    with pytest.raises(InputError, match="has 'p-first' as"):
        reached(world.inventory, "p-first")


@pytest.fixture
def counted(tmp_path: Path) -> Inventory:
    """A shop that counts from 1: person 1 has order 2 as customer 2, person 2 has order 1 as customer 1."""
    customers = pl.DataFrame({"customer_id": ["2", "1"], "customer_unique_id": ["1", "2"]})
    orders = pl.DataFrame({"order_id": ["2", "1"], "customer_id": ["2", "1"]})
    prompts = pl.DataFrame([("of-1", "1", "2"), ("of-2", "2", "1")], COLUMNS[:3], orient="row")
    files = {"prompts.parquet": prompts, "store/customers.csv": customers, "store/orders.csv": orders}
    commit(ArtifactStore(tmp_path), "prompts", files)
    return read_inventory(tmp_path)


def test_an_id_of_two_persons_is_refused_until_its_kind_is_said(counted: Inventory) -> None:
    with pytest.raises(InputError, match=r"customer_unique_id and order_id.*--kind customer\|order"):
        reached(counted, "1")
    of_customer, of_order = reached(counted, "1", "customer"), reached(counted, "1", "order")
    assert (of_customer.kinds, of_customer.orders, of_customer.prompts) == (("customer_unique_id",), ("2",), ("of-1",))
    assert (of_order.kinds, of_order.orders, of_order.prompts) == (("order_id",), ("1",), ("of-2",))
    # One customer column finds no row by the ids of the other.
    rows_of = {place.file: place.rows for place in of_customer.places}
    assert rows_of == {"prompts.parquet": 1, "store/customers.csv": 1, "store/orders.csv": 1}
    customers = pl.DataFrame({"customer_id": ["2", "1"], "customer_unique_id": ["1", "2"]})
    assert customers.filter(of_customer.person.theirs(customers.columns)).rows() == [("2", "1")]
    with pytest.raises(InputError, match="as review_id;"):
        reached(counted, "1", "review")
