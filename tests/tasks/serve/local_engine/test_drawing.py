"""The thread that draws: its order, what leaves at once, and what is said where it fails."""

import queue
from collections.abc import Iterator
from typing import Any

import pytest

from tasks.policy.continuous import DrawnRow
from tasks.policy.generate import as_messages, generate
from tasks.serve.local_engine.asked import AskedAnswer, Heard, ready
from tasks.serve.local_engine.chat import ChatRequest, ChatTurn, GuidedBy
from tasks.serve.local_engine.drawing import Drawing
from tasks.serve.local_engine.loaded import LoadedModels
from tests.tasks.serve.local_engine.conftest import ROWS
from tests.tasks.serve.local_engine.running import ENDLESS

PATIENCE = 120
LONG = 1_000


class Asker:
    """Asks, and keeps what it hears in the order in which it was said."""

    def __init__(self, loaded: LoadedModels) -> None:
        self.loaded = loaded
        self.heard: queue.Queue[tuple[str, Heard]] = queue.Queue()
        self.died: queue.Queue[bool] = queue.Queue()
        self.drawing = Drawing(loaded, lambda: self.died.put(True))

    def ask(self, text: str, max_tokens: int = 8) -> AskedAnswer:
        turns = [ChatTurn(role="system", content="Seja breve."), ChatTurn(role="user", content=text)]
        chat = ChatRequest(
            model="champion",
            messages=turns,
            temperature=0.7,
            max_tokens=max_tokens,
            seed=len(text),
            structured_outputs=GuidedBy(grammar=ENDLESS) if max_tokens == LONG else None,
        )
        asked = ready(chat, self.loaded, lambda news: self.heard.put((text, news)))
        self.drawing.ask(asked)
        return asked

    def next(self) -> tuple[str, Heard]:
        return self.heard.get(timeout=PATIENCE)


@pytest.fixture
def asker(loaded: LoadedModels) -> Iterator[Asker]:
    asker = Asker(loaded)
    yield asker
    asker.drawing.close()


def test_more_than_the_most_wait_and_are_drawn_in_their_order(asker: Asker, policy: tuple[Any, Any]) -> None:
    texts = [f"o pedido{' e' * number}" for number in range(4 * ROWS)]
    joined: list[Any] = []
    engine: Any = asker.loaded.models[0].engine
    join = engine.join

    def recorded(row: DrawnRow) -> None:
        joined.append((row, len(engine.rows)))
        join(row)

    engine.join = recorded
    asked = [asker.ask(text) for text in texts]
    answers = dict(asker.next() for _ in texts)
    assert [row for row, _ in joined] == [each.row for each in asked]
    assert max(before for _, before in joined) == ROWS - 1
    for text in texts:
        (alone,) = generate(
            *policy,
            [as_messages("Seja breve.", text)],
            temperature=0.7,
            max_tokens=8,
            batch_size=1,
            seed=len(text),
        )
        assert answers[text].completion == alone


def test_a_short_answer_does_not_wait_for_a_long_one_that_was_asked_before(asker: Asker) -> None:
    asker.ask("longa", LONG)
    asker.ask("curta", 3)
    text, news = asker.next()
    assert (text, news.refused) == ("curta", None)


def test_an_answer_that_nobody_waits_for_gives_its_place_away(asker: Asker) -> None:
    """All places are taken by long answers, and others wait: none of them may be drawn to its end."""
    rows = [asker.ask("longa" + "!" * number, LONG) for number in range(2 * ROWS)]
    for asked in rows:
        asked.gone = True
    asker.ask("curta", 3)
    text, news = asker.next()
    assert (text, news.refused) == ("curta", None)
    assert all(len(asked.row.drawn) < LONG and not asked.row.ended for asked in rows)
    assert asker.heard.empty()


def test_where_it_fails_all_are_told_and_who_asks_afterwards_too(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    engine: Any = asker.loaded.models[0].engine

    def fail() -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(engine, "step", fail)
    asker.ask("primeira")
    assert asker.died.get(timeout=PATIENCE)
    asker.ask("segunda")
    for text in ("primeira", "segunda"):
        said, news = asker.next()
        assert said == text
        assert news.refused is not None
        assert news.refused.status == 503
    assert isinstance(asker.drawing.error, RuntimeError)
