"""Who answers the test split: a base, or a policy with the adapter of the prompt's task; interrupted or not."""

import io
from pathlib import Path
from typing import Any

import pytest

from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.tasks import TaskName
from tasks.evaluate.answers.answer import AnswerRequest, main
from tasks.evaluate.answers.files import (
    FINISHED_FILE,
    GENERAL_FOLDER,
    ROLLOUTS_FILE,
    Batch,
    FinishedBatches,
    read_answers,
    read_timing,
)
from tasks.evaluate.general import instructions as instructions_module
from tasks.evaluate.general.instructions import instructions
from tasks.policy import generate
from tasks.policy.child import Channel
from tests.prompt_tables import write_prompts
from tests.small_base import save_base
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.policy.test_adapters import save_adapter

pytestmark = pytest.mark.slow

TASKS: tuple[TaskName, ...] = ("push", "churn", "push", "churn", "push")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base, a dataset, and policies: some with one adapter for all tasks, some with one a task."""
    folder = tmp_path_factory.mktemp("world")
    save_base(folder / "base")
    rows = [prompt_row(task, f"Pedido {number} " + "de novo " * number) for number, task in enumerate(TASKS)]
    write_prompts(rows, folder / "dataset" / "data" / "test.parquet")
    for name, seed in (("push-for-all", 2), ("churn-for-all", 3)):
        save_adapter(folder / "base", folder / name / "adapter", seed)
    save_adapter(folder / "base", folder / "each" / "adapters" / "push", 2)
    save_adapter(folder / "base", folder / "each" / "adapters" / "churn", 3)
    save_adapter(folder / "base", folder / "push-only" / "adapters" / "push", 2)
    return folder


def ask(world: Path, folder: Path, policy: str | None = None, **values: Any) -> Path:
    """Write the request for a model's answers; return its file. Work and output are folders beside it."""
    (folder / "output").mkdir(parents=True, exist_ok=True)
    request = {
        "base": world / "base",
        "policy": world / policy if policy else None,
        "load_in_4bit": False,
        "dataset": world / "dataset",
        "temperature": 1.0,
        "max_tokens": 8,
        "samples": 1,
        "batch_size": 2,
        "seed": 5,
        "work": folder / "work",
        "output": folder / "output",
        **values,
    }
    file = folder / "answer.request.json"
    file.write_text(AnswerRequest.model_validate(request).model_dump_json(), encoding="utf-8")
    return file


def answer(world: Path, folder: Path, policy: str | None = None, **values: Any) -> tuple[Rollout, ...]:
    main(ask(world, folder, policy, **values), Channel(io.StringIO()))
    return read_answers(folder / "output")


def completions(rollouts: tuple[Rollout, ...]) -> list[str]:
    return [rollout.completion for rollout in rollouts]


# So low that the likeliest token is drawn, whatever was drawn before.
COLD = 1e-4


def test_the_whole_test_split_is_answered_in_its_order_sample_by_sample(world: Path, tmp_path: Path) -> None:
    rollouts = answer(world, tmp_path, samples=2)
    assert [rollout.task for rollout in rollouts] == [*TASKS, *TASKS]
    assert [rollout.prompt.split()[1] for rollout in rollouts] == ["0", "1", "2", "3", "4"] * 2
    extras = [rollout.model_extra or {} for rollout in rollouts]
    assert [extra["sample"] for extra in extras] == [0] * 5 + [1] * 5
    assert all(extra["tokens"] == 8 or extra["stop_reason"] == "end_of_turn" for extra in extras)
    timing = read_timing(tmp_path / "output")
    assert [(each.prompt_id, each.sample, each.tokens) for each in timing.answers] == [
        (rollout.prompt_id, extra["sample"], extra["tokens"]) for rollout, extra in zip(rollouts, extras, strict=True)
    ]


def test_a_policy_with_an_adapter_a_task_answers_each_with_its_own(world: Path, tmp_path: Path) -> None:
    policies = ("each", "push-for-all", "churn-for-all")
    each, push, churn = (
        completions(answer(world, tmp_path / policy, policy, temperature=COLD, samples=2)) for policy in policies
    )
    assert all(one != other for one, other in zip(push, churn, strict=True))
    assert each == [{"push": push, "churn": churn}[task][index] for index, task in enumerate([*TASKS, *TASKS])]


def test_general_instructions_stand_apart(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instructions_module, "instructions", lambda: instructions()[:5])
    alone = answer(world, tmp_path / "alone", "each")
    assert not (tmp_path / "alone" / "output" / GENERAL_FOLDER).exists()
    assert answer(world, tmp_path / "both", "each", general=True) == alone
    general = read_answers(tmp_path / "both" / "output" / GENERAL_FOLDER)
    assert [each.prompt_id for each in general] == [each.id for each in instructions()[:5]]
    assert [each.task for each in general] == ["push", "churn", "push", "churn", "push"]
    assert {each.reference for each in general} == {None}
    monkeypatch.setattr(generate, "generate_samples", None)
    assert answer(world, tmp_path / "both", "each", general=True) == alone


def test_killed_answering_resumes(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, add = answer(world, tmp_path / "whole", "each", samples=3), FinishedBatches.add

    def die_in_the_fourth(self: FinishedBatches, batch: Batch) -> None:
        if len(self.batches) == 3:
            with self._file.open("ab") as file:
                file.write(batch.model_dump_json().encode()[:50])
            raise KeyboardInterrupt
        add(self, batch)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(FinishedBatches, "add", die_in_the_fourth)
        answer(world, tmp_path / "killed", "each", samples=3)
    file = tmp_path / "killed" / "work" / FINISHED_FILE
    left = file.read_bytes()
    assert left.count(b"\n") == 3
    assert not left.endswith(b"\n")
    assert answer(world, tmp_path / "killed", "each", samples=3) == whole
    killed, uninterrupted = (tmp_path / name / "output" / ROLLOUTS_FILE for name in ("killed", "whole"))
    assert killed.read_bytes() == uninterrupted.read_bytes()
    # What the killed one finished was not drawn again.
    assert file.read_bytes().startswith(left[: left.rindex(b"\n") + 1])
    assert len(FinishedBatches(file.parent).batches) == 9


def test_a_gpu_that_is_too_small_is_one_sentence(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def fail(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(generate, "generate_samples", fail)
    with pytest.raises(InputError, match=r"for 2 prompts at once; set evaluate\.batch_size below 2$"):
        answer(world, tmp_path)
