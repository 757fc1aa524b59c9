"""Answers without the work: one constant, a rule on the prompt's own lines, a template filled from the prompt."""

import json
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
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
OF_A_KEY: Final = 20
"""Candidates, and twice as many prompts, that choose a constant for one key where keys are many."""
FREE_TEXT: Final = "Avaliação: "
"""Beginning of the line from which on a prompt is what somebody wrote."""
NOTHING: Final = "none"
"""Category of a review without a complaint."""
STEPS: Final = (0, 1, 2, 3, 5, 10, 30, 60, 90, 120, 180, 365, 1_000)
"""Limits by which a rule tells numbers of one line apart."""

_TEXTS: Final = tomllib.loads(Path(__file__).with_name("templates.toml").read_text(encoding="utf-8"))
_LINE: Final = re.compile(r"^([^:\n]+): (.+)$", re.MULTILINE)

Answer = Callable[[PromptRow], str]
Key = Callable[[str], str]
"""What a rule reads of a prompt."""


@dataclass(frozen=True)
class Baselines:
    """Mean rewards of answers without the work; None where a task has no such answer."""

    usual: float
    """Of the most frequent reference's answer."""
    constant: float
    """Of the best constant, the usual one or another."""
    unread: float | None
    """Of the best rule that leaves most of the prompt unread."""
    template: float | None


def measure_baselines(
    task: TaskName, training: Sequence[PromptRow], prompts: Sequence[PromptRow], databases: Databases | None
) -> Baselines:
    """Choose each baseline on training prompts, and measure it on others.

    Of rules, invented complaints and templates the best on those others counts.
    """

    def mean(answer: Answer, rows: Sequence[PromptRow]) -> float:
        return fmean(reward_of(row, answer(row), databases) for row in rows)

    counts = Counter(TASKS[task].answer(row.reference) for row in training)
    common = [answer for answer, _ in counts.most_common(CANDIDATES)]
    best = max(common, key=lambda answer: mean(lambda _: answer, training[:JUDGED]))
    unread = template = None
    rules = [rule(task, training, key, databases) for key in KEYS.get(task, ())]
    if task in INVENTED:
        # Chosen on training prompts: they are too many for all to be measured.
        rules += sorted(INVENTED[task], key=lambda answer: mean(answer, training[:JUDGED]))[-3:]
    if rules:
        unread = max(mean(each, prompts) for each in rules)
    if task in TEMPLATES:
        template = max(mean(form, prompts) for form in TEMPLATES[task])
    usual = mean(lambda _: common[0], prompts)
    return Baselines(
        usual=usual,
        constant=max(usual, mean(lambda _: best, prompts)),
        unread=unread,
        template=template,
    )


def own_lines(prompt: str) -> str:
    """Return what a prompt says before the text, without the instruction."""
    return prompt.partition(FREE_TEXT)[0].partition("\n")[2]


def first_words(prompt: str) -> str:
    """Return the first three words of a question, behind the words that announce it."""
    return " ".join(prompt.rpartition(": ")[2].split()[:3])


def titles(prompt: str) -> str:
    """Return the titles of a prompt's table."""
    return next((line for line in prompt.split("\n") if " | " in line), "")


def line_of(name: str) -> Key:
    """Return a key that reads one line of a prompt: its text, or the step that its number reaches."""

    def key(prompt: str) -> str:
        lines: dict[str, str] = dict(_LINE.findall(prompt))
        text = lines.get(name, "")
        number = re.search(r"\d[\d.]*", text)
        if number is None:
            return text
        return str(sum(int(number[0].replace(".", "") or 0) >= step for step in STEPS))

    return key


def rule(task: TaskName, training: Sequence[PromptRow], key: Key, databases: Databases | None) -> Answer:
    """Return the rule that answers each key's prompts by the best constant for it."""
    by_key: defaultdict[str, list[PromptRow]] = defaultdict(list)
    for row in training:
        by_key[key(row.prompt)].append(row)
    candidates, judged = (CANDIDATES, JUDGED) if len(by_key) == 1 else (OF_A_KEY, 2 * OF_A_KEY)
    constants: dict[str, str] = {}
    for value, rows in by_key.items():
        counts = Counter(TASKS[task].answer(row.reference) for row in rows)
        constants[value] = max(
            (answer for answer, _ in counts.most_common(candidates)),
            key=lambda answer: fmean(reward_of(row, answer, databases) for row in rows[:judged]),
        )
    usual = constants[max(by_key, key=lambda value: len(by_key[value]))]
    return lambda row: constants.get(key(row.prompt), usual)


def _with_complaint(stars: int, category: str) -> Answer:
    """Return a rule that says these stars and complains of that, unless the prompt's own lines say something else."""

    def answer(row: PromptRow) -> str:
        lines = dict(_LINE.findall(own_lines(row.prompt)))
        late = lines.get("Entrega") == "com atraso"
        known = {"rating": int(lines.get("Nota", stars)), "fields": {"delivery_issue": late or None}}
        fields = json.loads(TASKS["extraction"].answer(known))
        if category != NOTHING:
            fields |= {"main_complaint": _TEXTS["complaints"][category], "complaint_category": category}
            fields |= {f"{category}_issue": True} if f"{category}_issue" in fields else {}
        return json.dumps(fields, ensure_ascii=False)

    return answer


def _push(row: PromptRow) -> str:
    lines: dict[str, str] = dict(_LINE.findall(row.prompt))
    return TASKS["push"].answer({"product": lines["Produto"], "offer": lines["Oferta"]})


def _first_row(row: PromptRow) -> str:
    """Say the first row of the table, whatever it holds, with three verbs of action."""
    header, *rows = [line.split(" | ") for line in row.prompt.split("\n") if " | " in line]
    said = [f"{rows[0][0]}: {title.lower()} de {cell}" for title, cell in zip(header[1:], rows[0][1:], strict=True)]
    items = [f"- {fact}. {action}" for fact, action in zip(said, _TEXTS["actions"], strict=False)]
    return "\n".join([_TEXTS["heading"], *items])


def _reason(row: PromptRow) -> str:
    lines = dict(_LINE.findall(row.prompt))
    said = _TEXTS["reason"].format(orders=lines["Pedidos"], days=lines["Dias desde a última compra"])
    return json.dumps({"risk_score": 0.7, "churn": True, "reasoning": said}, ensure_ascii=False)


KEYS: Final[Mapping[TaskName, tuple[Key, ...]]] = {
    "extraction": (own_lines,),
    "sentiment": (own_lines,),
    "sql_qa": (first_words,),
    "insights": (titles,),
    "push": (line_of("Oferta"),),
}
"""What rules read of a task's prompts. Of churn there is none: each line of a profile is what is to be read, and a rule
on the days since the last purchase does half of the work."""
INVENTED: Final[Mapping[TaskName, tuple[Answer, ...]]] = {
    "extraction": tuple(
        _with_complaint(stars, category) for stars, category in product(range(1, 6), (NOTHING, *_TEXTS["complaints"]))
    )
}
TEMPLATES: Final[Mapping[TaskName, tuple[Answer, ...]]] = {
    "push": (_push,),
    "insights": (_first_row,),
    "churn": (_reason,),
}
