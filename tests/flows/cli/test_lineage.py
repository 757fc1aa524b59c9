"""`tucano lineage` and `show`: both ways from every kind of reference, answers and rollouts, or one sentence."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.tables.prompts import PromptRow
from tasks.lineage.store.artifacts import ArtifactStore
from tests.flows.command import Ended, in_this_process
from tests.prompt_tables import prompt_table
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.lineage.made import commit
from tests.tasks.lineage.small_world import MODEL, TRAINED, World


def tucano(world: World, *arguments: str) -> Ended:
    return in_this_process("lineage", *arguments, "--set", f"state.root={world.root.parent}")


def test_a_version_is_reported_in_lines_and_as_a_document(world: World) -> None:
    ended = tucano(world, "1", "--json")
    document = ended.document()
    assert "scored by: ana-1 (human)" in ended.words
    assert tucano(world, "1").text.splitlines()[0] == f"{MODEL}/1"
    assert f": train; model {MODEL}/1" in tucano(world, TRAINED.prompt_id).text.splitlines()[0]
    assert {node["key"] for node in document["nodes"]} >= {record.sha256 for record in world.made.values()}
    assert document["subjects"] == [f"version:{MODEL}/1"]
    assert TRAINED.prompt_id in document["rows"]["train"]


def test_a_flipped_byte_is_found_by_verify_with_3(world: World, tmp_path: Path) -> None:
    own = World(Path(shutil.copytree(world.root, tmp_path / "artifacts")), world.made)
    assert tucano(own, "1", "--verify").returncode == 0
    trained = own.made["train"].sha256
    weights = ArtifactStore(own.root).path(trained) / "adapter" / "adapter_model.safetensors"
    content = bytearray(weights.read_bytes())
    content[3] ^= 4
    weights.chmod(0o644)
    weights.write_bytes(content)
    document = tucano(own, "1", "--verify", "--json").document(3)
    (finding,) = document["findings"]
    found = (finding["sha256"], finding["file"], finding["what"])
    assert found == (trained, "adapter/adapter_model.safetensors", "altered")
    assert (document["artifacts"], document["whole"]) == (len(own.made), False)
    assert tucano(own, own.made["curate"].sha256, "--verify").returncode == 3
    assert tucano(own, own.made["audit"].sha256[:8], "--verify").returncode == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("7",), f"the versions known here: {MODEL}/1"),
        (("deadbeef",), "'deadbeef' names nothing"),
        (("",), "'' names nothing"),
        (("1", "--verify", "--html", "page.html"), "--verify and --html ask for different things"),
    ],
)
def test_an_unknown_reference_is_reported(world: World, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in tucano(world, *arguments).refusal()


LEARNED, TESTED = prompt_row("push", "Tênis com 10% de desconto"), prompt_row("sentiment", "Chegou no prazo")
HOSTILE = "ligue (11) 91234-5678 \x1b[2J \u202e [bold]já[/bold]"


def rollout(row: PromptRow, step: int, completion: str, reward: float, **others: Any) -> dict[str, Any]:
    known = {"seed": 7, "tokens": 5, "stop_reason": "end_of_turn", "corrected": False, "advantage": reward - 0.5}
    identity = {"prompt_id": row.prompt_id, "task": row.task, "step": step}
    components = json.dumps({"style": reward})
    return {**identity, **known, "completion": completion, "reward": reward, "components": components, **others}


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state with a training, and the evaluation of it."""
    state = tmp_path_factory.mktemp("state")
    store = ArtifactStore(state / "artifacts")
    splits = {"train": [LEARNED], "validation": [], "test": [TESTED]}
    dataset = commit(store, "dataset", {f"data/{name}.parquet": prompt_table(rows) for name, rows in splits.items()})
    logged = [rollout(LEARNED, step, f"Passo {step}: Tênis {n}", 0.25 * n) for step in (1, 2) for n in (0, 3)]
    logged.append(rollout(LEARNED, 2, HOSTILE, 0.1, advantage=None, stop_reason="token_limit"))
    logged.append(rollout(prompt_row("churn", "Cliente"), 2, "A" * 3_000, 1.0))
    rollouts = pl.DataFrame(logged, infer_schema_length=None)
    policy = commit(store, "policy", {"rollouts/step-000001-000020.parquet": rollouts}, {"dataset": dataset})
    tested = {"prompt_id": TESTED.prompt_id, "sample": 0}
    answers = {
        f"answers-{name}": commit(store, "answers", {"rollouts.jsonl": tested | {"completion": text}})
        for name, text in (("base", "ruim"), ("tuned", "bom"), ("sft", "bom"))
    }
    scores = {
        f"{name}.scores.jsonl": tested | {"seed": 7, "score": score, "truth": 1}
        for name, score in (("base", 0.25), ("tuned", 0.75))
    }
    commit(store, "evaluation", scores, {"dataset": dataset, "policy-tuned": policy, **answers})
    return state


def show(state: Path, *arguments: str) -> Ended:
    return in_this_process("show", *arguments, "--json", "--set", f"state.root={state}")


def test_a_steps_rollouts_are_shown_from_worst_to_best_scrubbed_and_cannot_write_on_the_terminal(state: Path) -> None:
    ended = show(state, "2")
    rollouts = ended.document()["rollouts"]
    assert [each["reward"] for each in rollouts] == [0.0, 0.75, 0.1, 1.0]
    assert rollouts[0]["components"] == {"style": 0.0}
    places = [ended.stderr.index(text) for text in ("Passo 2: Tênis 0", "Passo 2: Tênis 3", "AAAA")]
    assert places == sorted(places)
    assert "91234" not in ended.text
    assert "\x1b" not in ended.text
    assert "[TELEFONE] ␛[2J \\u202e [bold]já[/bold]" in ended.words


def test_a_trained_prompt_is_shown_over_time_and_a_tested_one_with_each_models_answer(state: Path) -> None:
    trained, tested = (show(state, given).document() for given in (LEARNED.prompt_id[:8], TESTED.prompt_id))
    assert (trained["prompt"], trained["split"]) == (LEARNED.prompt, "train")
    assert [each["step"] for each in trained["rollouts"]] == [1, 1, 2, 2, 2]
    answers = [(each["model"], each["reward"]) for each in tested["answers"]]
    assert answers == [("base", 0.25), ("tuned", 0.75), ("sft", None)]
    # Equal ones once.
    assert show(state, TESTED.prompt_id).stderr.count("bom") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("9",), "the newest training has no rollouts of step 9; steps 1 to 2 have some"),
        (("1", "--task", "churn"), "has no rollouts of churn of step 1; steps 2 to 2 have some of churn"),
        (("zzzz",), "no prompt of the newest training's dataset begins with 'zzzz'; give an id, or the beginning"),
    ],
)
def test_an_absent_step_or_prompt_is_refused(state: Path, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in show(state, *arguments).refusal()
