"""Answers without the work: one constant, a rule on the prompt's own lines, a template filled from the prompt."""

import json
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName
from tasks.audit.critic.critic import reward_of
from tasks.commerce.registry import TASKS
from tasks.commerce.sql_qa.sandbox import Databases

CANDIDATES: Final = 40
"""The most frequent answers of the training prompts that are tried as the constant."""
JUDGED: Final = 200
"""Training prompts that choose a constant."""
FREE_TEXT: Final = "Avaliação: "
"""Beginning of the line from which on a prompt is what somebody wrote."""
WITHOUT_TEXT: Final[frozenset[TaskName]] = frozenset({"extraction", "sentiment"})
"""Tasks whose prompts have such a text, which a rule can leave unread."""

_TEXTS: Final = tomllib.loads(Path(__file__).with_name("templates.toml").read_text(encoding="utf-8"))

Answer = Callable[[PromptRow], str]


@dataclass(frozen=True)
class Baselines:
    """Mean rewards of answers without the work; None where a task has no such answer."""

    usual: float
    """Of the most frequent reference's answer."""
    constant: float
    """Of the best constant."""
    unread: float | None
    """Of the best rule that leaves the text unread."""
    template: float | None


def measure_baselines(
    task: TaskName, training: Sequence[PromptRow], prompts: Sequence[PromptRow], databases: Databases | None
) -> Baselines:
    """Choose each baseline on training prompts, and measure it on others."""

    def mean(answer: Answer, rows: Sequence[PromptRow]) -> float:
        return fmean(reward_of(row, answer(row), databases) for row in rows)

    counts = Counter(TASKS[task].answer(row.reference) for row in training)
    common = [answer for answer, _ in counts.most_common(CANDIDATES)]
    best = max(common, key=lambda answer: mean(lambda _: answer, training[:JUDGED]))
    unread = template = None
    if task in WITHOUT_TEXT:
        unread = max(mean(rule, prompts) for rule in (_rule(task, training, databases), *_INVENTED.get(task, ())))
    if task in TEMPLATES:
        template = max(mean(form, prompts) for form in TEMPLATES[task])
    return Baselines(
        usual=mean(lambda _: common[0], prompts),
        constant=mean(lambda _: best, prompts),
        unread=unread,
        template=template,
    )


def own_lines(prompt: str) -> str:
    """Return what a prompt says before the text, without the instruction."""
    return prompt.partition(FREE_TEXT)[0].partition("\n")[2]


def _rule(task: TaskName, training: Sequence[PromptRow], databases: Databases | None) -> Answer:
    """Return the best constant for each of the prompts' own lines."""
    by_lines: defaultdict[str, list[PromptRow]] = defaultdict(list)
    for row in training:
        by_lines[own_lines(row.prompt)].append(row)
    constants: dict[str, str] = {}
    for lines, rows in by_lines.items():
        counts = Counter(TASKS[task].answer(row.reference) for row in rows)
        constants[lines] = max(
            (answer for answer, _ in counts.most_common(CANDIDATES)),
            key=lambda answer: fmean(reward_of(row, answer, databases) for row in rows[:JUDGED]),
        )
    usual = next(iter(constants.values()))
    return lambda row: constants.get(own_lines(row.prompt), usual)


def _with_complaint(row: PromptRow) -> str:
    """Answer by rating and delivery alone, and make up the complaint."""
    lines = dict(re.findall(r"^(\w+): (.+)$", own_lines(row.prompt), re.MULTILINE))
    rating = int(lines.get("Nota", "3"))
    late = lines.get("Entrega") == "com atraso"
    fields = json.loads(TASKS["extraction"].answer({"rating": rating, "fields": {"delivery_issue": late or None}}))
    invented = {"product_issue": True, "main_complaint": _TEXTS["complaint"]}
    category = {"complaint_category": "delivery" if late else "product"}
    return json.dumps(fields | invented | category, ensure_ascii=False)


def _plain(row: PromptRow) -> str:
    """Answer by rating and delivery alone."""
    lines = dict(re.findall(r"^(\w+): (.+)$", own_lines(row.prompt), re.MULTILINE))
    late = lines.get("Entrega") == "com atraso"
    known = {"rating": int(lines.get("Nota", "3")), "fields": {"delivery_issue": late or None}}
    return TASKS["extraction"].answer(known)


def _push(row: PromptRow) -> str:
    lines = dict(re.findall(r"^(\w+): (.+)$", row.prompt, re.MULTILINE))
    return TASKS["push"].answer({"product": lines["Produto"], "offer": lines["Oferta"]})


def _first_row(row: PromptRow) -> str:
    """Say the first row of the table, whatever it holds, with three verbs of action."""
    header, *rows = [line.split(" | ") for line in row.prompt.split("\n") if " | " in line]
    said = [f"{rows[0][0]}: {title.lower()} de {cell}" for title, cell in zip(header[1:], rows[0][1:], strict=True)]
    items = [f"- {fact}. {action}" for fact, action in zip(said, _TEXTS["actions"], strict=False)]
    return "\n".join([_TEXTS["heading"], *items])


def _reason(row: PromptRow) -> str:
    lines = dict(re.findall(r"^([^:\n]+): (.+)$", row.prompt, re.MULTILINE))
    said = _TEXTS["reason"].format(orders=lines["Pedidos"], days=lines["Dias desde a última compra"])
    return json.dumps({"risk_score": 0.7, "churn": True, "reasoning": said}, ensure_ascii=False)


_INVENTED: Final[Mapping[TaskName, tuple[Answer, ...]]] = {"extraction": (_plain, _with_complaint)}
TEMPLATES: Final[Mapping[TaskName, tuple[Answer, ...]]] = {
    "push": (_push,),
    "insights": (_first_row,),
    "churn": (_reason,),
}
