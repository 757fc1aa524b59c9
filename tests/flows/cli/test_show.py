"""`tucano show`: a prompt with its answers and rollouts, a step's rollouts, and one sentence where there is nothing."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.artifact import ArtifactRecord
from schemas.tables.prompts import PromptRow
from tasks.lineage.store.artifacts import ArtifactStore
from tests.flows.command import Ended, in_this_process
from tests.prompt_tables import prompt_table
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.lineage.made import commit

TRAINED, TESTED = prompt_row("push", "Tênis com 10% de desconto"), prompt_row("sentiment", "Chegou no prazo")
HOSTILE = "ligue (11) 91234-5678 \x1b[2J \u202e [bold]já[/bold]"
LONG = "A" * 3_000


def rollout(row: PromptRow, step: int, completion: str, reward: float, **others: Any) -> dict[str, Any]:
    known = {"seed": 7, "tokens": 5, "stop_reason": "end_of_turn", "corrected": False, "advantage": reward - 0.5}
    identity = {"prompt_id": row.prompt_id, "task": row.task, "step": step}
    components = json.dumps({"style": reward})
    return {**identity, **known, "completion": completion, "reward": reward, "components": components, **others}


def lines(*documents: Any) -> str:
    return "".join(json.dumps(each) + "\n" for each in documents)


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state with a training, and the evaluation of it."""
    state = tmp_path_factory.mktemp("state")
    policy, dataset = make_policy(ArtifactStore(state / "artifacts"))
    make_evaluation(ArtifactStore(state / "artifacts"), policy, dataset)
    return state


def make_policy(store: ArtifactStore) -> tuple[ArtifactRecord, ArtifactRecord]:
    splits = {"train": [TRAINED], "validation": [], "test": [TESTED]}
    dataset = commit(store, "dataset", {f"data/{name}.parquet": prompt_table(rows) for name, rows in splits.items()})
    logged = [
        *(
            rollout(TRAINED, step, f"Passo {step}: Tênis {number}", 0.25 * number)
            for step in (1, 2)
            for number in (0, 3)
        ),
        rollout(TRAINED, 2, HOSTILE, 0.1, advantage=None, stop_reason="token_limit"),
        rollout(prompt_row("churn", "Cliente"), 2, LONG, 1.0),
    ]
    files = {"rollouts/step-000001-000020.parquet": pl.DataFrame(logged, infer_schema_length=None)}
    return commit(store, "policy", files, {"dataset": dataset}), dataset


def make_evaluation(store: ArtifactStore, policy: ArtifactRecord, dataset: ArtifactRecord) -> None:
    answers = {
        f"answers-{name}": commit(
            store,
            "answers",
            {"rollouts.jsonl": lines({"prompt_id": TESTED.prompt_id, "sample": 0, "completion": text})},
        )
        for name, text in (("base", "ruim"), ("tuned", "bom"), ("sft", "bom"))
    }
    scores = {
        f"{name}.scores.jsonl": lines(
            {"prompt_id": TESTED.prompt_id, "sample": 0, "seed": 7, "score": score, "truth": 1}
        )
        for name, score in (("base", 0.25), ("tuned", 0.75))
    }
    commit(store, "evaluation", scores, {"dataset": dataset, "policy-tuned": policy, **answers})


def show(state: Path, *arguments: str) -> Ended:
    return in_this_process("show", *arguments, "--set", f"state.root={state}")


def words(ended: Ended) -> str:
    """Return what was printed without the frames and line breaks of tables."""
    return " ".join(word for word in ended.text.split() if word not in {"│", "┃"})


def test_a_steps_rollouts_are_shown_by_task_and_from_worst_to_best(state: Path) -> None:
    ended = show(state, "2", "--json")
    assert ended.returncode == 0, ended.stderr
    assert "push 3 1 3 2 0.283 0.000 0.750" in words(ended)
    places = [ended.stderr.index(text) for text in ("All, worst first", "Passo 2: Tênis 0", "Passo 2: Tênis 3", "AAAA")]
    assert places == sorted(places)
    rollouts = json.loads(ended.stdout)["rollouts"]
    assert [each["reward"] for each in rollouts] == [0.0, 0.75, 0.1, 1.0]
    assert rollouts[0]["components"] == {"style": 0.0}


def test_a_text_is_scrubbed_and_cannot_write_on_the_terminal(state: Path) -> None:
    ended = show(state, "2", "--json")
    assert "91234" not in ended.text
    assert "\x1b" not in ended.text
    assert "[TELEFONE] ␛[2J \\u202e [bold]já[/bold] (cut off at the token limit)" in words(ended)


def test_a_trained_prompt_is_shown_over_time(state: Path) -> None:
    ended = show(state, TRAINED.prompt_id[:8], "--json")
    assert f"push prompt {TRAINED.prompt_id}, of the train split" in ended.stderr
    assert "  Tênis com 10% de desconto\n" in ended.stderr
    assert "1 7 2 2 2 0.375 0.000 0.750 style 0.375" in words(ended)
    assert [each["step"] for each in json.loads(ended.stdout)["rollouts"]] == [1, 1, 2, 2, 2]


def test_a_tested_prompt_is_shown_with_each_models_answer_and_equal_ones_once(state: Path) -> None:
    ended = show(state, TESTED.prompt_id, "--json")
    assert "base 0.250 1 ruim" in words(ended)
    assert "tuned, sft 0.750 1 bom" in words(ended)
    answers = json.loads(ended.stdout)["answers"]
    assert [(each["model"], each["reward"]) for each in answers] == [("base", 0.25), ("tuned", 0.75), ("sft", None)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("9",), "the newest training has no rollouts of step 9; steps 1 to 2 have some\n"),
        (("1", "--task", "churn"), "has no rollouts of churn of step 1; steps 2 to 2 have some of churn\n"),
        (("zzzz",), "no prompt of the newest training's dataset begins with 'zzzz'; give an id, or the beginning"),
    ],
)
def test_an_absent_step_or_prompt_is_refused(state: Path, arguments: tuple[str, ...], sentence: str) -> None:
    ended = show(state, *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert sentence in ended.text
