"""The laptop's own engine: its answers are `generate`'s, whoever asks beside; what nobody waits for is not drawn."""

import asyncio
import random
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tasks.policy.generate import as_messages, generate
from tasks.policy.load import load_policy, load_tokenizer
from tasks.serve import local_engine
from tasks.serve.engine_client import EngineAnswer, EngineQuestion, EngineRefused, EngineUnavailable
from tasks.serve.local_engine import LocalEngine
from tests.small_base import save_base
from tests.tasks.policy.test_adapters import save_adapter

ROWS = 3
PATIENCE = 120
GRAMMAR = "start: A\nA: /(ab|b)+c/"
GIVEN_UP = "start: A\nA: /.*a.{60}/ & /.*b.{50}/ & ~/.*c.{40}/"
SYSTEMS = ("Seja breve.", "Responda em português.", "Escreva.")


def question(text: str = "o pedido", system: str = "Seja breve.", **changes: Any) -> EngineQuestion:
    fields: dict[str, Any] = {"model": "champion", "temperature": 0.7, "max_tokens": 8, "seed": 5, "grammar": ""}
    return EngineQuestion(messages=as_messages(system, text), **(fields | changes))


def questions(count: int, models: Sequence[str] = ("champion",)) -> list[EngineQuestion]:
    """Return questions of many kinds."""
    return [
        question(
            "o pedido " * (number % 11 + 1),
            SYSTEMS[number % 3],
            model=models[number % len(models)],
            seed=number % 5,
            temperature=(0.1, 0.7, 1.3)[number % 7 % 3],
            max_tokens=5 + 9 * (number % 4),
            grammar=GRAMMAR if number % 4 == 1 else "",
        )
        for number in range(count)
    ]


def alone(model: Any, tokenizer: Any, asked: EngineQuestion) -> tuple[str, int, str]:
    (answer,) = generate(
        model,
        tokenizer,
        [[dict(message) for message in asked.messages]],
        temperature=asked.temperature,
        max_tokens=asked.max_tokens,
        batch_size=1,
        seed=asked.seed or 0,
        grammars=[asked.grammar],
    )
    reason = {"end_of_turn": "stop", "token_limit": "length"}[answer.stop_reason.value]
    return answer.text, answer.tokens, reason


def ask(engine: LocalEngine, asked: Sequence[EngineQuestion]) -> list[tuple[str, int, str]]:
    async def run() -> list[EngineAnswer]:
        async with asyncio.timeout(PATIENCE):
            return await asyncio.gather(*map(engine.complete, asked))

    return [(answer.text, answer.tokens, answer.finish_reason) for answer in asyncio.run(run())]


def started(weights: Path, **changes: Any) -> LocalEngine:
    fields: dict[str, Any] = {"adapters": {}, "rows": ROWS}
    engine = LocalEngine(weights, **(fields | changes))
    asyncio.run(engine.start())
    return engine


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_base(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def policy(base: Path) -> tuple[Any, Any]:
    return load_policy(base, None, four_bit=False), load_tokenizer(base)


@pytest.fixture(scope="module")
def engine(base: Path) -> Iterator[LocalEngine]:
    engine = started(base)
    yield engine
    asyncio.run(engine.close())
    assert not any(thread.name.startswith("drawing") for thread in threading.enumerate())


def test_answers_are_those_of_generate_alone_in_any_order(engine: LocalEngine, policy: tuple[Any, Any]) -> None:
    asked = questions(48)
    random.Random(3).shuffle(asked)
    assert ask(engine, asked) == [alone(*policy, each) for each in asked]


def test_adapters_are_asked_by_name(base: Path, tmp_path: Path, policy: tuple[Any, Any]) -> None:
    folders = {name: save_adapter(base, tmp_path / name, seed) for seed, name in enumerate(("push", "churn"), start=1)}
    models = {"champion": policy[0]} | {
        name: load_policy(base, folder, four_bit=False) for name, folder in folders.items()
    }
    asked = questions(18, tuple(models))
    wanted = [alone(models[each.model], policy[1], each) for each in asked]
    assert len(set(wanted)) > 9
    # Not started: its models are loaded with the first question.
    engine = LocalEngine(base, folders, rows=8)
    assert ask(engine, asked) == wanted
    asyncio.run(engine.close())


def test_bad_questions_spoil_no_answer(engine: LocalEngine, policy: tuple[Any, Any]) -> None:
    bad = {
        r"the prompt has \d+ tokens, and the model reads \d+ before an answer of 8": question("o " * 500_000),
        "the grammar of the answers cannot be read": question(grammar="start: missing"),
        "grammar": question(grammar=GIVEN_UP),
    }

    async def run() -> list[Any]:
        return await asyncio.gather(*map(engine.complete, (*bad.values(), question())), return_exceptions=True)

    *refused, answer = asyncio.run(run())
    for said, error in zip(bad, refused, strict=True):
        assert isinstance(error, EngineRefused)
        assert re.search(said, str(error))
        assert "\n" not in str(error)
        assert len(str(error)) < 400
    assert (answer.text, answer.tokens, answer.finish_reason) == alone(*policy, question())


def test_abandoned_questions_are_not_drawn(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    begun, free = threading.Event(), threading.Event()

    def slow(*arguments: Any, **settings: Any) -> Any:
        begun.set()
        free.wait(PATIENCE)
        completions = generate(*arguments, **settings)
        drawn.append(len(completions))
        return completions

    monkeypatch.setattr(local_engine, "generate", slow)

    async def run() -> int:
        first = asyncio.create_task(engine.complete(question("a")))
        await asyncio.to_thread(begun.wait, PATIENCE)
        given_up = [asyncio.create_task(engine.complete(question(text))) for text in "bcd"]
        last = asyncio.create_task(engine.complete(question("e", max_tokens=1)))
        await asyncio.sleep(0)
        for task in given_up:
            task.cancel()
        free.set()
        await first
        return (await last).tokens

    assert asyncio.run(asyncio.wait_for(run(), PATIENCE)) == 1
    assert drawn == [1, 1]


def test_failure_ends_nothing(engine: LocalEngine, policy: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("a bug")

    async def run() -> list[Any]:
        return await asyncio.gather(*(engine.complete(question()) for _ in range(2 * ROWS)), return_exceptions=True)

    with monkeypatch.context() as patched:
        patched.setattr(local_engine, "generate", fail)
        assert {type(each) for each in asyncio.run(run())} == {EngineUnavailable}
    assert ask(engine, questions(6)) == [alone(*policy, each) for each in questions(6)]
