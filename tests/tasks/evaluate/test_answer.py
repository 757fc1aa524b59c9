"""Who answers the test split: the base once, and each policy with the adapter of the prompt's task."""

import io
import json
from pathlib import Path

import pytest

from schemas.config import PolicyConfig
from schemas.errors import InputError
from schemas.tasks import TaskName
from tasks.evaluate.answer import BASE_FILE, AnswerRequest, main, tuned_file
from tasks.policy.child import Channel
from tests.prompt_tables import write_prompts
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.policy.test_adapters import save_adapter

TASKS: tuple[TaskName, ...] = ("push", "churn", "push", "churn", "push")
SMALL = PolicyConfig(stand_in=True, vocabulary_size=512, hidden_size=32, layers=1, heads=2, feed_forward_size=32)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base, a dataset, and policies: some with one adapter for all tasks, some with one a task."""
    from tasks.policy.stand_in import build_model, build_tokenizer

    folder = tmp_path_factory.mktemp("world")
    tokenizer = build_tokenizer(["o pedido chegou atrasado"] * 20, 512)
    build_model(SMALL, tokenizer, 3).save_pretrained(folder / "base")
    tokenizer.save_pretrained(folder / "base")
    rows = [prompt_row(task, f"Pedido {number} " + "de novo " * number) for number, task in enumerate(TASKS)]
    write_prompts(rows, folder / "dataset" / "data" / "test.parquet")
    for name, seed in (("push-for-all", 2), ("churn-for-all", 3)):
        save_adapter(folder / "base", folder / name / "adapter", seed)
    save_adapter(folder / "base", folder / "each" / "adapters" / "push", 2)
    save_adapter(folder / "base", folder / "each" / "adapters" / "churn", 3)
    save_adapter(folder / "base", folder / "push-only" / "adapters" / "push", 2)
    return folder


def answer(world: Path, output: Path, policies: dict[int, str]) -> dict[str, list[str]]:
    """Let policies answer under their training seeds; return each file's completions."""
    output.mkdir()
    request = AnswerRequest(
        base=world / "base",
        policies={seed: world / name for seed, name in policies.items()},
        load_in_4bit=False,
        dataset=world / "dataset",
        # So low that the likeliest token is drawn, whatever was drawn before.
        temperature=1e-4,
        max_tokens=8,
        batch_size=2,
        seed=5,
        output=output,
    )
    request_file = output.parent / f"{output.name}.request.json"
    request_file.write_text(request.model_dump_json(), encoding="utf-8")
    main(request_file, Channel(io.StringIO()))
    return {
        file.name: [json.loads(line)["completion"] for line in file.read_text(encoding="utf-8").splitlines()]
        for file in output.iterdir()
    }


def test_every_policy_answers_as_it_does_alone_and_the_base_answers_once(world: Path, tmp_path: Path) -> None:
    alone = answer(world, tmp_path / "alone", {42: "push-for-all"})
    both = answer(world, tmp_path / "both", {42: "push-for-all", 123: "each"})
    assert alone.keys() == {BASE_FILE, "tuned.rollouts.jsonl"}
    assert both.keys() == {BASE_FILE, "tuned-seed42.rollouts.jsonl", "tuned-seed123.rollouts.jsonl"}
    assert both[BASE_FILE] == alone[BASE_FILE]
    assert both["tuned-seed42.rollouts.jsonl"] == alone["tuned.rollouts.jsonl"]
    assert len({tuple(completions) for completions in both.values()}) == 3


def test_a_policy_with_an_adapter_a_task_answers_each_with_its_own(world: Path, tmp_path: Path) -> None:
    seeds = {1: "each", 2: "push-for-all", 3: "churn-for-all"}
    files = answer(world, tmp_path / "answers", seeds)
    each, push, churn = (files[tuned_file(seed, seeds)] for seed in seeds)
    assert all(one != other for one, other in zip(push, churn, strict=True))
    assert each == [{"push": push, "churn": churn}[task][index] for index, task in enumerate(TASKS)]


def test_a_policy_without_an_adapter_for_a_test_prompt_is_refused(world: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no adapter for churn, only for push"):
        answer(world, tmp_path / "answers", {1: "push-only"})
