"""`tucano forget`: its dry run, an unknown person, and refusals, each in one sentence."""

from pathlib import Path

import pytest

from schemas.config.profiles import load_config
from tasks.lineage.erase.find import reached
from tasks.lineage.erase.plan import Journal, planned
from tasks.lineage.erase.report import FORMAT, write_report
from tests.flows.command import Ended, in_this_process
from tests.tasks.lineage.small_world import ANA, BIA, MODEL, World

pytestmark = pytest.mark.slow


def tucano(root: Path, *arguments: str | Path) -> Ended:
    return in_this_process("forget", *arguments, "--set", f"state.root={root}")


def test_a_dry_run_reports_the_plan_and_changes_nothing(world: World) -> None:
    root = world.root.parent
    before = sorted(world.root.rglob("*"))
    ended = tucano(root, ANA, "--json")
    document = ended.document()
    assert (document["prompts"], document["artifacts"], document["learned"]) == (2, 3, 4)
    assert (document["versions"], document["kinds"]) == ([f"{MODEL}/1"], ["customer_unique_id"])
    assert "--apply needs --remove-only" in ended.text
    assert "nothing was changed" in ended.text
    assert not (root / "forget.key").exists()
    assert f"{MODEL}/1 learned from these rows" in tucano(root, ANA, "--apply").refusal()
    assert "a name finds nobody, since two people may share one" in tucano(root, "Ana Maria").refusal()
    assert sorted(world.root.rglob("*")) == before


def begun(world: World, identifier: str, *done: str) -> Journal:
    """Leave the journal of a forgetting that was interrupted after some steps."""
    root = world.root.parent
    digest = load_config("local", [f"state.root={root}"]).digest()
    state = planned(world.inventory, reached(world.inventory, identifier), digest, identifier)
    journal = Journal(root, identifier, None)
    journal.write(state.model_copy(update={"done": done}))
    return journal


def test_an_interrupted_one_is_shown_with_the_steps_done_and_left(world: World) -> None:
    root = world.root.parent
    journal = begun(world, ANA, "logs", "models")
    before = sorted(root.rglob("*"))
    ended, other = tucano(root, f" {ANA} ", "--json"), tucano(root, BIA)
    reset = tucano(root, ANA, "--set", "seed=99")
    assert sorted(root.rglob("*")) == before
    journal.end()
    document = ended.document()
    assert "was begun, and has not ended" in ended.text
    assert (document["done"], document["left"]) == (["logs", "models"], ["mark", "remove", "decide"])
    assert "another configuration" not in ended.text
    assert "another configuration" in reset.text
    assert "another person's forgetting was interrupted" in other.text


def test_a_report_is_verified_and_an_altered_one_refused(world: World, tmp_path: Path) -> None:
    root = world.root.parent
    report = write_report(root, {"format": FORMAT, "finished_at": "2026-11-27T12:00:00+00:00", "not_reached": []})
    assert tucano(root, "--verify", report, "--json").document()["own_key"] is True
    assert tucano(tmp_path, "--verify", report, "--json").document()["own_key"] is False
    report.write_text(report.read_text(encoding="utf-8").replace("12:00", "13:00"), encoding="utf-8")
    assert "was changed after it was signed" in tucano(root, "--verify", report).refusal(3)
