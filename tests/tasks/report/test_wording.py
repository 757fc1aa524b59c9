"""Wording: every message of the reports in Portuguese too, with the same places."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from string import Formatter
from typing import Final, get_args

import pytest

from flows.stages.evaluate import AS_SERVED, OF_THE_PUBLISHED
from schemas.artifact import ArtifactKind
from schemas.config.evaluate import BASELINES, FLOORS, RUNGS
from schemas.documents import RaterKind
from schemas.source import REPOSITORY
from tasks.audit.gate import AuditVerdict
from tasks.audit.report import STRATA
from tasks.audit.sampling import AT_RANDOM
from tasks.commerce.registry import TASKS
from tasks.evaluate.compare import BASE, CHAMPION, TUNED
from tasks.evaluate.completions.page import WORDS
from tasks.evaluate.general.instructions import instructions
from tasks.evaluate.report.sentences import PHRASES
from tasks.evaluate.stage import PUBLISHED
from tasks.evaluate.stats.statistics import Verdict
from tasks.monitor.drift import FALLEN
from tasks.monitor.logs import EARLIER, HALF_WRITTEN, OF_OTHERS, OWN_SHADOW, TOO_OLD, TWICE
from tasks.monitor.scoring import STORE_IS_GONE
from tasks.monitor.series import ALL
from tasks.report.language import spoken
from tasks.report.wording import DATA_FILES, catalogue, counted, worded

ROOMS: Final = [
    REPOSITORY / "tasks" / name for name in ("evaluate", "bag_of_words", "audit", "monitor", "lineage/graph", "report")
]
TEMPLATES: Final = {
    file.relative_to(REPOSITORY).as_posix(): file.read_text(encoding="utf-8")
    for room in ROOMS
    for file in room.rglob("*.j2")
}
BY_PLACE: Final = {
    "worded": slice(0, 1),
    "counted": slice(1, 3),
    "_table": slice(0, 1),
    "_worded": slice(0, 1),
}
"""Of each function that takes messages, which of its arguments they are."""
OTHER_METRICS: Final = ("balanced_accuracy", "stars", "auc", "macro_f1")
"""Metrics over many answers, which no list names."""


def data() -> set[str]:
    """Return the messages that are data, or names, where they are made."""
    metrics = {name for task in TASKS.values() for name in task.answer_metrics}
    metrics |= {
        f"{task.answer_metrics[-1]}_{group}"
        for task in TASKS.values()
        if task.parts
        for group in ("seen", *(f"unseen_{key}" for key in task.parts))
    }
    metrics |= {f"{name}_repaired" for name in ("accuracy", "exact", "all_kept")}
    metrics |= {name for floors in FLOORS.values() for name in floors} | {*OTHER_METRICS}
    return {
        *(name.replace("_", " ") for name in metrics),
        *(text for each in (BASELINES, RUNGS) for text in each.values()),
        *BASELINES,
        *get_args(Verdict),
        *("promote", "hold", "challenger", "by {lines}"),
        *(BASE, TUNED, CHAMPION, PUBLISHED),
        *(AS_SERVED, OF_THE_PUBLISHED),
        *(each.kind for each in instructions()),
        *get_args(RaterKind),
        *WORDS,
        *(saying for saying, _ in PHRASES.values()),
        *get_args(AuditVerdict),
        "failed",
        *(words for words, *_ in STRATA.values()),
        AT_RANDOM,
        *FALLEN.values(),
        *(TWICE, TOO_OLD, EARLIER, OF_OTHERS, OWN_SHADOW, HALF_WRITTEN, STORE_IS_GONE),
        *("reward", "form", "drift", "floor", "alarm", "as promised", "form as before", "no promise", ALL),
        *("none", "slight", "strong"),
        *of_the_lineage(),
    }


def of_the_lineage() -> set[str]:
    """Return the names of kinds, facts and roles, which are data of the nodes; others of these stay English."""
    text = (REPOSITORY / DATA_FILES[0] / "lineage.toml").read_text(encoding="utf-8")
    named = tomllib.loads(text[text.index("# Kinds of nodes") :])
    assert set(get_args(ArtifactKind)) <= catalogue().keys()
    return {*named, *get_args(ArtifactKind)}


def of_the_code() -> Iterator[str]:
    for file in (file for room in ROOMS for file in room.rglob("*.py")):
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            named: dict[str, list[ast.expr]] = {}
            for node in ast.walk(function):
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.List | ast.IfExp):
                    for target in (each for each in node.targets if isinstance(each, ast.Name)):
                        named.setdefault(target.id, []).append(node.value)
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and (name := _name_of(call.func)) in BY_PLACE:
                    for argument in call.args[BY_PLACE[name]]:
                        yield from strings(argument)
                        names = [each.id for each in ast.walk(argument) if isinstance(each, ast.Name)]
                        yield from (text for name in names for value in named.get(name, ()) for text in strings(value))


def _name_of(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def strings(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.IfExp):
        yield from strings(node.body)
        yield from strings(node.orelse)
    elif isinstance(node, ast.Starred):
        yield from strings(node.value)
    elif isinstance(node, ast.List | ast.Tuple):
        for each in node.elts:
            yield from strings(each)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def of_the_template() -> Iterator[str]:
    for template in TEMPLATES.values():
        yield from (" ".join(text.split()) for text in re.findall(r'worded\("([^"]*)"', template))
        yield from re.findall(r'worded\("[^"]*" if [^"]*? else "([^"]*)"', template)
        for one, many in re.findall(r'counted\([^,]+, "([^"]*)", "([^"]*)"', template):
            yield from (one, many)


def places(message: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(message) if name}


MESSAGES: Final = frozenset({*of_the_code(), *of_the_template(), *data()}) - {""}


def test_every_message_is_translated_and_no_translation_is_left_over() -> None:
    assert len(MESSAGES) > 200
    assert sorted(MESSAGES - catalogue().keys()) == []
    assert sorted(catalogue().keys() - MESSAGES) == []


def test_translations_have_the_places_and_the_full_stop_of_their_messages() -> None:
    faulty = [
        message
        for message in MESSAGES
        if places(translated := catalogue()[message]) != places(message)
        or translated.strip() != translated
        or not translated
        or translated.endswith(".") != message.endswith(".")
    ]
    assert faulty == []


@pytest.mark.parametrize("room", sorted(name for name in TEMPLATES if name.endswith(".html.j2")))
def test_a_template_has_no_words_of_its_own(room: str) -> None:
    template = TEMPLATES[room]
    body = template[template.index("{% block body") :]
    text = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "", body, flags=re.DOTALL)
    assert set(re.findall(r"[^\W\d_]{2,}", re.sub(r"<[^>]*>", "", text))) <= {"rho"}


def test_no_message_is_translated_twice() -> None:
    files = (REPOSITORY / DATA_FILES[0]).glob("*.toml")
    found = Counter(message for file in files for message in tomllib.loads(file.read_text(encoding="utf-8")))
    assert [message for message, times in found.items() if times > 1] == []


def test_a_language_ends_with_its_block_and_a_message_without_translation_stays_english() -> None:
    with spoken("pt"):
        assert worded("task") == "tarefa"
        assert counted(2, "and an older audit", "and {n} older audits") == "e 2 auditorias mais antigas"
        assert worded("no such message {n}", n=3) == "no such message 3"
        with spoken("en"):
            assert worded("task") == "task"
    assert worded("task") == "task"


def test_braces_of_data_stay_braces() -> None:
    assert worded('{"polarity":"positive"}') == '{"polarity":"positive"}'
    assert worded("the baseline `{name}`", name="{x}") == "the baseline `{x}`"
