"""The screen that asks for references, in textual's own pilot: each key answers, writes, undoes or scrolls."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.events import Paste

from flows.cli.label.questions import QUESTIONS, UNKNOWN_KEY, WRITE_KEY
from flows.cli.label.references_screen import LONGEST_COMPLAINT, ReferencesApp
from schemas.given_references import ASKED_FIELDS, GivenReference, read_given
from tasks.audit.references import ReferenceSession
from tests.tasks.curate.prompt_rows import prompt_row

UNTOLD = prompt_row("sentiment", "Veio quebrado \x1b[2J", {"polarity": None, "score": None})
COMPLAINT = prompt_row(
    "extraction",
    "Atrasou muito",
    {
        "rating": 2,
        "fields": {
            "sentiment": "negative",
            "sentiment_score": 2,
            "churn_risk": 0.7,
            "delivery_issue": True,
            "product_issue": False,
            "seller_issue": False,
            "complaint_category": "delivery",
            "repeat_intent": False,
            "would_recommend": False,
        },
    },
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "references.jsonl"


def played(file: Path, *steps: str | Paste, size: tuple[int, int] = (80, 20)) -> tuple[ReferencesApp, list[str]]:
    """Press the keys, and return what was seen after each step."""
    app = ReferencesApp(ReferenceSession([UNTOLD, COMPLAINT], file, "ana"))
    screens: list[str] = []

    async def play() -> None:
        async with app.run_test(size=size) as pilot:
            for step in ("", *steps):
                if isinstance(step, Paste):
                    app.post_message(step)
                else:
                    await pilot.press(*step.split())
                if app._exit:
                    return
                await pilot.pause()
                strips = app.screen._compositor.render_strips()
                screens.append("\n".join(strip.text for strip in strips))

    asyncio.run(play())
    return app, screens


def values(file: Path) -> list[Any]:
    return [dict(line.values) for line in read_given(file)] if file.stat().st_size else []


def test_a_session_from_the_first_question_to_the_end(file: Path) -> None:
    app, screens = played(file, "1", "u", "3", "d", "e", Paste("atraso na\nentrega"), "enter", "u", "0", "x")
    first, answered, undone, again, unknown, writing, pasted, written, taken_back, done = screens
    assert "1 de 3 · sentiment" in first
    assert "Veio quebrado" in first
    assert "\x1b" not in first
    assert "Qual é o sentimento do cliente?" in first
    assert "1 negativo  2 neutro  3 positivo  d não se sabe" in first
    assert "2 de 3 · sentiment" in answered
    assert "negativo: salvo · u desfaz" in answered
    assert "Que nota o cliente daria" in answered
    assert "1 de 3" in undone
    assert "desfeito" in undone
    assert "positivo: salvo" in again
    assert "3 de 3 · extraction" in unknown
    assert "Atrasou muito" in unknown
    assert "e escreve  0 nenhuma queixa" in unknown
    assert "Enter salva" in writing
    assert "atraso na entrega" in pasted
    assert "pronto: nenhuma pergunta sem resposta" in written
    assert "Qual é a queixa principal" in taken_back
    assert "u desfaz a última resposta" in done
    assert app._exit
    assert values(file) == [{"polarity": "positive", "score": None}, {"main_complaint": ""}]


def test_what_is_written_is_saved_with_enter_alone_and_no_letter_of_it_is_a_key(file: Path) -> None:
    most = Paste("b" * (LONGEST_COMPLAINT - 3))
    app, screens = played(file, "1", "5", "e", "x", "escape", "e", "enter", "u q d", most, "x", "enter", "q")
    assert "3 de 3" in screens[5]
    assert "Enter salva" in screens[7]
    assert values(file) == [{"polarity": "negative", "score": 5}, {"main_complaint": f"uqd{most.text}"}]
    assert app._exit


def test_leaving_keeps_what_was_answered_and_ctrl_c_interrupts(file: Path) -> None:
    app, _ = played(file, "2", "q")
    assert app._exit
    assert not app.interrupted
    app, screens = played(file, "ctrl+c")
    assert "2 de 3" in screens[0]
    assert app.interrupted
    assert values(file) == [{"polarity": "neutral"}]


def test_a_file_that_was_spoilt_ends_the_screen_with_a_sentence(file: Path) -> None:
    app = ReferencesApp(ReferenceSession([UNTOLD], file, "ana"))

    async def play() -> None:
        async with app.run_test() as pilot:
            file.write_text("no JSON\n")
            await pilot.press("1")

    asyncio.run(play())
    assert app.failure is not None
    assert "line 1" in str(app.failure)
    assert file.read_text() == "no JSON\n"


def test_every_field_has_a_question_whose_every_answer_is_one_of_its_reference() -> None:
    assert {name for fields in ASKED_FIELDS.values() for name in fields} == QUESTIONS.keys()
    for task, fields in ASKED_FIELDS.items():
        for field in fields:
            choices = QUESTIONS[field].choices
            assert not {"u", "q", "space", UNKNOWN_KEY, WRITE_KEY} & choices.keys()
            for _, value in choices.values():
                reference = {"fields": {field: value}} if task == "extraction" else {field: value}
                GivenReference(prompt_id="0" * 64, task=task, reference=reference, rater="ana")
