"""Plan of a forgetting: what is removed and what is not, in a journal that resumes and names nobody."""

import hmac
from pathlib import Path

import polars as pl
import pytest

from schemas.errors import InputError
from tasks.lineage.erase.find import reached
from tasks.lineage.erase.plan import Forgetting, Journal, identities_left, planned, to_remove
from tasks.lineage.graph.rows import PEOPLE, PROMPTS
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.lineage.store.inventory import read_inventory
from tests.tasks.lineage.made import commit
from tests.tasks.lineage.small_world import ANA, BIA, World

SECRET = b"s" * 32
IDENTITIES = {
    name: [hmac.digest(SECRET, value.encode(), "sha256").hex()]
    for name, value in zip((*PEOPLE, *PROMPTS), ("1", "c-1", "o-1", "r-1", "p-1", "p-1"), strict=True)
}


def plan(world: World, identifier: str = ANA) -> Forgetting:
    inventory = world.inventory
    return planned(inventory, reached(inventory, identifier), "digest", identifier)


def removed(world: World, state: Forgetting) -> set[str]:
    gone = to_remove(world.inventory, state)
    return {stage for stage, record in world.made.items() if record.sha256 in gone}


def test_a_person_of_the_train_split_takes_the_model_and_its_outputs(world: World) -> None:
    gone = removed(world, plan(world))
    assert gone == {"synthesize", "curate", "base", "train", "answer-tuned", "evaluate", "promote"}


def test_artifacts_that_came_out_the_same_stay_with_their_outputs(world: World) -> None:
    kept = tuple(world.made[stage].sha256 for stage in ("base", "train"))
    assert removed(world, plan(world).model_copy(update={"kept": kept})) == {"synthesize", "curate"}


def test_the_journal_resumes_and_names_nobody(world: World, tmp_path: Path) -> None:
    journal = Journal(tmp_path, ANA, None)
    assert journal.begun is None
    state = journal.write(plan(world))
    assert Journal(tmp_path, ANA, None).begun == state
    assert Journal(tmp_path, BIA, None).begun is None
    (file,) = (tmp_path / "forgetting").iterdir()
    assert ANA not in file.read_text(encoding="utf-8")
    assert file.stat().st_mode & 0o777 == 0o600
    Journal(tmp_path, ANA, None).end()
    assert not (tmp_path / "forgetting").exists()


def test_nobody_is_forgotten_while_another_is(world: World, tmp_path: Path) -> None:
    Journal(tmp_path, ANA, None).write(plan(world))
    Journal(tmp_path, ANA, None).require_no_other()
    with pytest.raises(InputError, match="another person's forgetting was interrupted"):
        Journal(tmp_path, BIA, None).require_no_other()
    state = plan(world).model_copy(update={"done": ("logs", "decide")})
    Journal(tmp_path, ANA, None).write(state)
    Journal(tmp_path, BIA, None).require_no_other()


@pytest.mark.parametrize(
    ("column", "value", "found"),
    [
        ("customer_unique_id", "1", True),
        ("customer_id", "c-1", True),
        ("customer_id", "1", False),
        ("parent_id", "p-1", True),
        ("order_id", "r-1", False),
    ],
)
def test_each_id_is_found_in_its_own_column(tmp_path: Path, column: str, value: str, found: bool) -> None:
    commit(ArtifactStore(tmp_path), "prompts", {"store/a.csv": pl.DataFrame({column: ["other", value]})})
    sentences = list(identities_left(read_inventory(tmp_path), IDENTITIES, SECRET))
    assert bool(sentences) is found


def test_a_table_that_cannot_be_read_is_no_proof(tmp_path: Path) -> None:
    commit(ArtifactStore(tmp_path), "prompts", {"prompts.parquet": b"PAR1"})
    (sentence,) = identities_left(read_inventory(tmp_path), IDENTITIES, SECRET)
    assert "cannot be read" in sentence
