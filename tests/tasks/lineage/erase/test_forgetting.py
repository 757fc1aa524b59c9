"""Plan of a forgetting: what is removed and what is not, in a journal that goes on where it was and names nobody."""

from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.lineage.erase.forget import reached
from tasks.lineage.erase.forgetting import Forgetting, Journal
from tasks.lineage.erase.removal_plan import planned, to_remove
from tests.tasks.lineage.small_world import ANA, BIA, World, make_world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("state") / "artifacts")


def plan(world: World, identifier: str = ANA) -> Forgetting:
    inventory = world.inventory
    return planned(inventory, reached(inventory, identifier), "subject", "digest")


def removed(world: World, state: Forgetting) -> set[str]:
    gone = to_remove(world.inventory, state)
    return {stage for stage, record in world.made.items() if record.sha256 in gone}


def test_whose_rows_were_trained_on_takes_the_model_and_all_that_came_of_it(world: World) -> None:
    gone = removed(world, plan(world))
    assert gone == {"synthesize", "curate", "base", "train", "answer-tuned", "evaluate", "promote"}


def test_what_was_made_again_and_came_out_the_same_stays_with_what_came_of_it(world: World) -> None:
    kept = tuple(world.made[stage].sha256 for stage in ("base", "train"))
    assert removed(world, plan(world).model_copy(update={"kept": kept})) == {"synthesize", "curate"}


def test_who_was_only_tested_with_takes_no_model(world: World) -> None:
    assert not {"base", "train", "promote"} & removed(world, plan(world, BIA))


def test_the_journal_goes_on_and_names_nobody(world: World, tmp_path: Path) -> None:
    journal = Journal(tmp_path, "subject")
    assert journal.read() is None
    state = journal.write(plan(world))
    assert journal.read() == state
    (file,) = (tmp_path / "forgetting").iterdir()
    assert ANA not in file.read_text(encoding="utf-8")
    assert file.stat().st_mode & 0o777 == 0o600
    journal.end()
    assert not (tmp_path / "forgetting").exists()


def test_nobody_is_forgotten_while_another_is(world: World, tmp_path: Path) -> None:
    Journal(tmp_path, "subject").write(plan(world))
    Journal(tmp_path, "subject").require_no_other()
    with pytest.raises(InputError, match="another person's forgetting was interrupted"):
        Journal(tmp_path, "other").require_no_other()


def test_who_is_forgotten_but_for_places_that_are_tried_again_hinders_nobody(world: World, tmp_path: Path) -> None:
    Journal(tmp_path, "subject").write(plan(world).model_copy(update={"done": ("logs", "decide")}))
    Journal(tmp_path, "other").require_no_other()


def test_a_damaged_journal_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "forgetting").mkdir()
    (tmp_path / "forgetting" / "subject.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="remove it, and forget again"):
        Journal(tmp_path, "subject").read()
