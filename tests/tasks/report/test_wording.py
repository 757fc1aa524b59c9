"""Wording: every message of the reports in Portuguese too, with the same places."""

import ast
import re
from collections.abc import Iterator
from string import Formatter
from typing import Final

from schemas.config.evaluate import BASELINES, RUNGS
from schemas.source import REPOSITORY
from tasks.audit.gate import OBJECTIONS
from tasks.commerce.registry import TASKS
from tasks.evaluate.report.sentences import PHRASES
from tasks.monitor.drift import FALLEN
from tasks.monitor.logs import EARLIER, HALF_WRITTEN, OF_OTHERS, TOO_OLD, TWICE
from tasks.monitor.scoring import STORE_IS_GONE
from tasks.report.wording import catalogue, counted, spoken, worded
from tasks.serve.by_hand.page import ANSWERERS, TITLES, WORDS

ROOMS: Final = [
    REPOSITORY / name
    for name in (
        *("tasks/evaluate", "tasks/bag_of_words", "tasks/next_steps", "tasks/audit", "tasks/monitor"),
        *("tasks/lineage/graph", "tasks/report", "tasks/serve/by_hand", "flows/cli"),
    )
]
TEMPLATES: Final = {str(file): file.read_text(encoding="utf-8") for room in ROOMS for file in room.rglob("*.html.j2")}
DATA: Final = {
    *(text for each in (BASELINES, RUNGS) for text in each.values()),
    *(saying for saying, _ in PHRASES.values()),
    *(*WORDS, *TITLES.values(), *ANSWERERS.values()),
    *(str(field.description) for task in TASKS.values() for field in task.inputs.model_fields.values()),
    *(*OBJECTIONS.values(), *FALLEN.values(), TWICE, TOO_OLD, EARLIER, OF_OTHERS, HALF_WRITTEN, STORE_IS_GONE),
}


def of_the_code() -> Iterator[str]:
    """Yield the messages that calls of `worded` and `counted` have as literals."""
    for file in (file for room in ROOMS for file in room.rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in {"worded", "counted"}:
                literals = (each.value for each in call.args if isinstance(each, ast.Constant))
                yield from (text for text in literals if isinstance(text, str) and text)


def of_the_templates() -> Iterator[str]:
    for template in TEMPLATES.values():
        yield from (" ".join(text.split()) for text in re.findall(r'worded\("([^"]*)"', template))
        for one, many in re.findall(r'counted\([^,]+, "([^"]*)", "([^"]*)"', template):
            yield from (one, many)


def places(message: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(message) if name}


def test_every_message_is_translated() -> None:
    messages = {*of_the_code(), *of_the_templates(), *DATA} - {""}
    assert len(messages) > 150
    assert sorted(messages - catalogue().keys()) == []


def test_translations_have_the_places_and_the_full_stop_of_their_messages() -> None:
    faulty = [
        message
        for message, translated in catalogue().items()
        if places(translated) != places(message)
        or translated.strip() != translated
        or not translated
        or translated.endswith(".") != message.endswith(".")
    ]
    assert faulty == []


def test_a_language_ends_with_its_block_and_a_message_without_translation_stays_english() -> None:
    with spoken("pt"):
        assert worded("task") == "tarefa"
        assert counted(2, "and one more reason", "and {n} more reasons") == "e mais 2 motivos"
        assert worded("no such message {n}", n=3) == "no such message 3"
    assert worded("task") == "task"
