from collections.abc import Sequence
from pathlib import Path

import pytest

from schemas.errors import InputError
from tests.tasks.lineage.small_world import DECISION, MODEL, TRAINED, World, commit, documents, make_world

VERSION = f"version:{MODEL}/1"
PREFECT_RUN = "12345678-1234-4234-8234-123456789abc"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world") / "artifacts")


@pytest.mark.parametrize("reference", ["1", f"{MODEL}/1", " 1 ", "champion", f"{MODEL}/champion"])
def test_a_version_goes_by_its_number_its_name_or_an_alias(world: World, reference: str) -> None:
    found = world.walker(aliases={"champion": "1"}).find(reference)
    assert (found.kind, found.keys) == ("version", (VERSION,))


def test_an_artifact_goes_by_its_digest_or_eight_characters_of_it(world: World) -> None:
    for record in world.made.values():
        for reference in (record.sha256, record.sha256[:8], record.sha256[:40].upper()):
            found = world.walker().find(reference)
            assert (found.kind, found.keys) == ("artifact", (record.sha256,))


def test_a_prompt_goes_by_its_id_or_its_beginning(world: World) -> None:
    for reference in (TRAINED.prompt_id, TRAINED.prompt_id[:10]):
        found = world.walker().find(reference)
        assert (found.kind, found.keys) == ("prompt", (f"prompt:{TRAINED.prompt_id}",))
        assert {row.place for row in found.rows} == {"prompts", "train"}


def test_only_the_registry_knows_a_pipeline_s_run_and_a_shop_s_own_alias(world: World) -> None:
    asked: list[str] = []

    def ask_run(run: str) -> Sequence[str]:
        asked.append(run)
        return (world.made["curate"].sha256,) if run == PREFECT_RUN else ()

    def ask_alias(alias: str) -> str | None:
        asked.append(alias)
        return "1" if alias == "friday" else None

    walker = world.walker(ask_run=ask_run, ask_alias=ask_alias)
    assert walker.find("1").keys == walker.find("friday").keys == (VERSION,)
    assert walker.find(PREFECT_RUN).keys == (world.made["curate"].sha256,)
    assert asked == ["friday", PREFECT_RUN]


def test_a_beginning_of_several_digests_is_reported_with_them(tmp_path: Path) -> None:
    world = make_world(tmp_path / "artifacts")
    sha256 = world.made["base"].sha256
    twin = sha256[:12] + "0" * 52
    # Two digests with a common beginning cannot be made; a damaged artifact has any name.
    (world.root / "base" / twin).mkdir()
    with pytest.raises(InputError, match=r"may be 2 things: .*write more of it") as ambiguous:
        world.walker().find(sha256[:12])
    assert sha256 in str(ambiguous.value)
    assert twin in str(ambiguous.value)
    assert world.walker().find(sha256[:14]).keys == (sha256,)


def test_a_number_that_a_lost_registry_gave_before_is_the_new_policy_s(tmp_path: Path) -> None:
    world = make_world(tmp_path / "artifacts")
    other = commit(world.root, "policy", documents({"note": "another"}), "train", {})
    commit(
        world.root,
        "promotion",
        documents({"decision.json": {**DECISION, "forced": "why"}}),
        "p",
        {"policy": other.sha256},
    )
    walker = world.walker()
    newest = walker.walk(walker.find("1"))
    assert other.sha256 in newest.graph.came_from(*newest.subjects)
