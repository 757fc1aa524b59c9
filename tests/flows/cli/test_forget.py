"""`tucano forget`: what it would do, whom it does not know, and what it refuses, each in one sentence."""

import json
from pathlib import Path

import pytest

from schemas.config.profiles import load_config
from tasks.lineage.erase.find import reached
from tasks.lineage.erase.plan import Journal, planned
from tasks.lineage.erase.report import FORMAT, write_report
from tests.flows.command import Ended, in_this_process
from tests.tasks.lineage.small_world import ANA, BIA, MODEL, World, make_world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("state") / "artifacts")


def tucano(root: Path, *arguments: str | Path) -> Ended:
    return in_this_process("forget", *arguments, "--set", f"state.root={root}")


def refuses(ended: Ended, code: int, sentence: str) -> None:
    assert ended.returncode == code, ended.text
    assert sentence in ended.text
    assert "Traceback" not in ended.text


def reported(root: Path) -> Path:
    return write_report(root, {"format": FORMAT, "finished_at": "2026-11-27T12:00:00+00:00", "not_reached": []})


def test_a_dry_run_reports_the_plan_and_changes_nothing(world: World) -> None:
    before = sorted(world.root.rglob("*"))
    ended = tucano(world.root.parent, ANA, "--json")
    assert ended.returncode == 0, ended.text
    document = json.loads(ended.stdout)
    assert (document["prompts"], document["artifacts"], document["learned"]) == (2, 3, 4)
    assert document["versions"] == [f"{MODEL}/1"]
    assert document["kinds"] == ["customer_unique_id"]
    assert "--apply needs --remove-only" in ended.text
    assert "nothing was changed" in ended.text
    assert sorted(world.root.rglob("*")) == before
    assert not (world.root.parent / "forget.key").exists()
    refuses(tucano(world.root.parent, ANA, "--apply"), 2, f"{MODEL}/1 learned from these rows")
    refuses(tucano(world.root.parent, "Ana Maria"), 2, "a name finds nobody, since two people may share one")
    assert sorted(world.root.rglob("*")) == before


def begun(world: World, identifier: str, *done: str) -> Journal:
    """Leave the journal of a forgetting that was interrupted after some steps."""
    root = world.root.parent
    digest = load_config("local", [f"state.root={root}"]).digest()
    state = planned(world.inventory, reached(world.inventory, identifier), digest, identifier)
    journal = Journal(root, identifier, None)
    journal.write(state.model_copy(update={"done": done}))
    return journal


def test_one_that_was_interrupted_is_shown_with_what_is_done_and_left(world: World) -> None:
    root = world.root.parent
    journal = begun(world, ANA, "logs", "models")
    before = sorted(root.rglob("*"))
    ended, other = tucano(root, f" {ANA} ", "--json"), tucano(root, BIA)
    reset = tucano(root, ANA, "--set", "seed=99")
    assert sorted(root.rglob("*")) == before
    journal.end()
    assert ended.returncode == 0, ended.text
    assert "was begun, and has not ended" in ended.text
    assert json.loads(ended.stdout)["done"] == ["logs", "models"]
    assert json.loads(ended.stdout)["left"] == ["mark", "remove", "decide"]
    assert "another configuration" not in ended.text
    assert "another configuration" in reset.text
    assert "another person's forgetting was interrupted" in other.text


def test_a_report_is_verified_and_an_altered_one_refused(world: World, tmp_path: Path) -> None:
    root = world.root.parent
    report = reported(root)
    ended = tucano(root, "--verify", report, "--json")
    assert ended.returncode == 0, ended.text
    assert json.loads(ended.stdout)["own_key"] is True
    assert json.loads(tucano(tmp_path, "--verify", report, "--json").stdout)["own_key"] is False
    report.write_text(report.read_text(encoding="utf-8").replace("12:00", "13:00"), encoding="utf-8")
    refuses(tucano(root, "--verify", report), 3, "was changed after it was signed")
