"""References that name something, and the walk from each to all that it came from and led to."""

import json
import shutil

import pytest

from tasks.lineage.graph.graph import read_versions
from tasks.lineage.graph.walk import Lineage
from tasks.lineage.store.artifacts import ArtifactStore
from tests.tasks.lineage.made import commit
from tests.tasks.lineage.small_world import (
    ANA,
    DECISION,
    HELD_OUT,
    MODEL,
    NOBODYS,
    PARAPHRASE,
    SCRUBBED,
    TRAINED,
    VALIDATED,
    WITH_PHONE,
    World,
)

VERSION = f"version:{MODEL}/1"


def side(lineage: Lineage, key: str) -> str | None:
    return next((node["side"] for node in lineage.document()["nodes"] if node["key"] == key), None)


def role(lineage: Lineage, source: str, target: str) -> set[str]:
    return {edge.role for edge in lineage.graph.edges if (edge.source, edge.target) == (source, target)}


def test_a_version_came_from_every_artifact_and_every_row_of_its_dataset(world: World) -> None:
    walked = world.walk("1")
    assert walked.subjects == (VERSION,)
    for record in world.made.values():
        assert side(walked, record.sha256) == "before", record.stage
    walker = world.walker()
    assert set(walker.artifacts(walker.find("1"))) == {record.sha256 for record in world.made.values()}
    assert set(walked.rows["train"]) == {TRAINED.prompt_id, PARAPHRASE.prompt_id, NOBODYS.prompt_id}
    assert (walked.rows["validation"], walked.rows["test"]) == ((VALIDATED.prompt_id,), (SCRUBBED.prompt_id,))
    assert not walked.warnings
    assert walked.graph.nodes["training:train-0"].facts == {
        "stretch 1": "steps 0-4 on spot-1 from 2026-11-22 12:00 UTC, preempted",
        "stretch 2": "steps 4-6 on spot-2 from 2026-11-22 12:00 UTC, finished",
    }


def test_a_prompt_leads_to_its_paraphrase_what_sampled_it_and_versions(world: World) -> None:
    walked = world.walk(TRAINED.prompt_id)
    prompt, policy = f"prompt:{TRAINED.prompt_id}", world.made["train"].sha256
    assert walked.subjects == (prompt,)
    facts = {"task": "extraction", "source": TRAINED.source, "review": "rev1", "order": "ord1", "customer": ANA}
    assert walked.graph.nodes[prompt].facts == facts
    assert side(walked, f"prompt:{PARAPHRASE.prompt_id}") == "after"
    assert role(walked, prompt, world.made["curate"].sha256) == {"train"}
    assert role(walked, prompt, policy) == {"sampled"}
    assert side(walked, "training:train-0") == "after"
    assert role(walked, f"prompt:{PARAPHRASE.prompt_id}", policy) == {"in its training split, never sampled"}
    assert side(walked, VERSION) == "after"
    assert "reward" in walked.graph.nodes[world.made["evaluate"].sha256].facts


def test_a_test_prompt_leads_to_the_evaluation_and_to_no_training(world: World) -> None:
    walked = world.walk(SCRUBBED.prompt_id)
    assert side(walked, world.made["evaluate"].sha256) == "after"
    assert side(walked, VERSION) == "after"
    assert side(walked, world.made["train"].sha256) is None
    assert side(walked, world.made["base"].sha256) is None


def test_a_prompt_in_quarantine_leads_to_no_model_and_says_why(world: World) -> None:
    walked = world.walk(HELD_OUT.prompt_id)
    assert role(walked, f"prompt:{HELD_OUT.prompt_id}", world.made["curate"].sha256) == {"quarantine: held out"}
    assert side(walked, VERSION) is None


def test_no_text_of_a_shopper_is_in_what_is_reported(world: World) -> None:
    for reference in ("1", TRAINED.prompt_id, SCRUBBED.prompt_id):
        reported = json.dumps(world.walk(reference).document(), ensure_ascii=False)
        assert not any(row.prompt in reported for row in (TRAINED, PARAPHRASE, WITH_PHONE, SCRUBBED))


def test_a_deleted_artifact_is_named_with_what_is_still_known(own: World) -> None:
    dataset, base = own.made["curate"].sha256, own.made["base"].sha256
    shutil.rmtree(own.root / "dataset" / dataset)
    for reference in ("1", dataset):
        walked = own.walk(reference)
        (warning,) = walked.warnings
        assert f"artifact {dataset[:12]}: the store has it no more" in warning
        assert f"dataset of base {base[:12]}" in warning
        walker = own.walker()
        assert dataset in walker.artifacts(walker.find(reference))


@pytest.mark.parametrize("reference", ["1", f"{MODEL}/1", " 1 ", "champion", f"{MODEL}/champion"])
def test_a_version_goes_by_its_number_its_name_or_an_alias(world: World, reference: str) -> None:
    found = world.walker(champion="1").find(reference)
    assert (found.kind, found.keys) == ("version", (VERSION,))


def test_a_version_has_every_promotion_of_it(own: World) -> None:
    decision, inputs = {**DECISION, "forced": "sale"}, own.made["promote"].inputs
    forced = commit(ArtifactStore(own.root), "promotion", {"decision.json": decision}, inputs)
    (version,) = read_versions(own.inventory)
    assert (version.name, version.policy) == (f"{MODEL}/1", own.made["train"].sha256)
    assert {record.sha256 for record in version.promotions} == {own.made["promote"].sha256, forced.sha256}
