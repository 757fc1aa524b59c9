"""Search for the best system prompt: a small real base answers validation, and the reward chooses by task."""

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from schemas.config.config import AUDIT_FOLDER
from schemas.config.evaluate import PromptSearchConfig
from schemas.errors import InputError
from schemas.tables.prompts import PromptRow, read_prompts
from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS
from tasks.evaluate.answers.answer import AnswerRequest, Reworded, main, reword
from tasks.evaluate.answers.files import Answer, Batch, read_answers, write_answers
from tasks.evaluate.prompts.proposals import Proposer
from tasks.evaluate.prompts.search import Room, chosen_systems, read_choice, read_cost, search
from tasks.evaluate.prompts.wordings import shipped
from tasks.policy.child import Channel
from tasks.policy.generate import StopReason
from tests.prompt_tables import write_prompts
from tests.small_base import save_base
from tests.tasks.curate.prompt_rows import prompt_row

ASKED: tuple[TaskName, ...] = ("push", "churn")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    save_base(folder / "base")
    for split, count in (("train", 6), ("validation", 4)):
        rows = [prompt_row(task, f"{split} {number}") for number in range(count) for task in ASKED]
        write_prompts(rows, folder / "dataset" / "data" / f"{split}.parquet")
    return folder


def request_of(world: Path, folder: Path, number: int, asked: Sequence[Reworded]) -> AnswerRequest:
    return AnswerRequest(
        base=world / "base",
        policy=None,
        load_in_4bit=False,
        dataset=world / "dataset",
        split="data/validation.parquet",
        reworded=tuple(asked),
        temperature=0.1,
        max_tokens=4,
        samples=1,
        batch_size=8,
        seed=5,
        work=folder / f"work-{number}",
        output=folder / f"round-{number}",
    )


def by_the_base(world: Path, folder: Path) -> Callable[[int, Sequence[Reworded]], Path]:
    """Let the small base answer, in this process."""

    def answer(number: int, asked: Sequence[Reworded]) -> Path:
        request = request_of(world, folder, number, asked)
        file = folder / "answer.request.json"
        file.write_text(request.model_dump_json(), encoding="utf-8")
        main(file, Channel(io.StringIO()))
        return request.output

    return answer


def by_rule(
    world: Path, folder: Path, right: Callable[[PromptRow], bool], seen: list[Sequence[Reworded]]
) -> Callable[[int, Sequence[Reworded]], Path]:
    """Answer right under some system prompts, and nothing under the others."""

    def answer(number: int, asked: Sequence[Reworded]) -> Path:
        seen.append(asked)
        rows = reword(read_prompts(world / "dataset" / "data" / "validation.parquet"), asked)
        answers = tuple(
            Answer(
                index=index,
                text=TASKS[row.task].answer(row.reference) if right(row) else "nada",
                tokens=3,
                stop_reason=StopReason.END_OF_TURN,
            )
            for index, row in enumerate(rows)
        )
        output = folder / f"round-{number}"
        output.mkdir(parents=True)
        batch = Batch(sample=0, number=0, seconds=2.0, answers=answers)
        write_answers(output, rows, [batch], "temperature 0.1, at most 4 tokens", ours=True)
        return output

    return answer


def run(
    world: Path,
    folder: Path,
    answer: Callable[[int, Sequence[Reworded]], Path],
    *,
    budget: int = 64,
    shots: int = 1,
    longest: int = 0,
    proposer: Proposer | None = None,
) -> Any:
    folder.mkdir(exist_ok=True)
    search(
        PromptSearchConfig(budget=budget, shots=shots),
        "grounded",
        5,
        store=AUDIT_FOLDER / "store",
        dataset=world / "dataset",
        room=Room.of(world / "base", longest),
        answer=answer,
        proposer=proposer,
        output=folder,
    )
    return read_choice(folder)


@pytest.mark.slow
def test_the_base_answers_every_round_and_the_same_search_is_the_same_bytes(world: Path, tmp_path: Path) -> None:
    choice = run(world, tmp_path / "one", by_the_base(world, tmp_path / "one"))
    assert choice == run(world, tmp_path / "two", by_the_base(world, tmp_path / "two"))
    assert list(choice["tasks"]) == [task for task in TASKS if task in ASKED]
    rounds = sorted((tmp_path / "one").glob("round-*"))
    answered = sum(len(read_answers(folder)) for folder in rounds)
    assert read_cost(tmp_path / "one")["answers"] == answered <= 64
    assert answered == sum(each["answers"] for found in choice["tasks"].values() for each in found["candidates"])
    assert all(len(found["candidates"]) > 0 for found in choice["tasks"].values())


def test_each_task_takes_the_wording_that_earns_most(world: Path, tmp_path: Path) -> None:
    wanted = {"push": shipped("push")[3].system, "churn": shipped("churn")[1].system}
    seen: list[Sequence[Reworded]] = []
    choice = run(
        world, tmp_path / "s", by_rule(world, tmp_path / "s", lambda row: row.system == wanted[row.task], seen)
    )
    assert chosen_systems(tmp_path / "s") == wanted
    assert {task: (found["name"], found["shots"]) for task, found in choice["tasks"].items()} == {
        "push": ("shipped-3", 0),
        "churn": ("shipped-1", 0),
    }
    # The tasks share their rounds, and with them a loaded model.
    assert all({each.task for each in asked} == set(ASKED) for asked in seen)
    assert read_cost(tmp_path / "s")["seconds"] == 2.0 * len(seen)


def test_an_example_of_the_training_split_is_kept_where_it_helps(world: Path, tmp_path: Path) -> None:
    choice = run(world, tmp_path / "s", by_rule(world, tmp_path / "s", lambda row: "Exemplo 1:" in row.system, []))
    found = choice["tasks"]["churn"]
    assert found["shots"] == 1
    assert "\ntrain " in found["system"]
    assert "validation" not in found["system"]
    assert found["tokens"] > found["own_tokens"]


def test_what_does_not_fit_into_the_context_is_never_asked_and_is_counted(world: Path, tmp_path: Path) -> None:
    room = Room.of(world / "base", 0)
    own = {task: shipped(task)[0].system for task in ASKED}
    seen: list[Sequence[Reworded]] = []
    answer = by_rule(world, tmp_path / "s", lambda row: "Exemplo 1:" in row.system, seen)
    # Not one token is left.
    choice = run(world, tmp_path / "s", answer, longest=room.context)
    for asked in seen:
        for each in asked:
            assert room.tokens(each.system) <= room.tokens(own[each.task])
    for task in ASKED:
        longer = sum(room.tokens(each.system) > room.tokens(own[task]) for each in shipped(task))
        assert choice["tasks"][task]["too_long"] >= max(1, longer)
        assert choice["tasks"][task]["shots"] == 0


def test_a_base_that_states_no_context_is_refused_in_a_sentence(world: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 8}), encoding="utf-8")
    with pytest.raises(InputError, match=r"leave base-prompt out of evaluate\.rungs"):
        Room.of(tmp_path, 0)
