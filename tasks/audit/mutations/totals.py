"""Bugs of the code shared by every reward: the total, and the arguments of the scorer."""

import random
from typing import Final

from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.mutations.breaking import Mutant, Plant, edit, wrap
from tasks.commerce.reward import Reference, Score, Scorer
from tasks.commerce.sql_qa.sandbox import Databases

A_FEW: Final[tuple[TaskName, ...]] = ("insights", "sentiment")
"""Tasks on which a bug of every task is tested."""

_SUM: Final = "math.fsum([weight * components[name] for name, weight in self.weights.items()])"
_HELD: Final = "min(max(total, 0.0), 1.0)"


def _total(whole: str, broken: str) -> tuple[Plant, ...]:
    return (edit("reward:Reward.total", (whole, broken)),)


def _noise(whole: Scorer) -> Scorer:
    generator = random.Random(0)

    def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
        scored = whole(completion, prompt, reference, databases)
        noisy = {name: min(value * generator.uniform(0.95, 1.0), 1.0) for name, value in scored.components.items()}
        return scored._replace(components=noisy)

    return score


def _kept_by_prompt(whole: Scorer) -> Scorer:
    kept: dict[str, Score] = {}

    def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
        if prompt not in kept:
            kept[prompt] = whole(completion, prompt, reference, databases)
        return kept[prompt]

    return score


def _one_behind(whole: Scorer) -> Scorer:
    waiting: list[Score] = []

    def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
        waiting.append(whole(completion, prompt, reference, databases))
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return score


def _first_reference(whole: Scorer) -> Scorer:
    kept: list[Reference | None] = []

    def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
        kept.append(reference)
        return whole(completion, prompt, kept[0], databases)

    return score


def _with_prompt(whole: Scorer) -> Scorer:
    def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
        return whole(f"{prompt}\n{completion}", prompt, reference, databases)

    return score


TOTALS: Final = (
    Mutant("constant", "Every completion earns a half.", A_FEW, _total(_HELD, "0.5")),
    Mutant("sign flipped", "The worse a completion, the more it earns.", A_FEW, _total(_HELD, f"1 - {_HELD}")),
    Mutant(
        "binary",
        "A completion earns everything or nothing instead of a part (investigation report, 3.1).",
        A_FEW,
        _total(_HELD, "float(total >= 0.5)"),
    ),
    Mutant(
        "partial credit cut off",
        "What earns less than 0.8 earns nothing.",
        A_FEW,
        _total(_HELD, "total * (total >= 0.8)"),
    ),
    Mutant(
        "clipped at a half", "No completion earns more than a half.", A_FEW, _total(_HELD, "min(max(total, 0.0), 0.5)")
    ),
    Mutant("rounded to tenths", "Small errors vanish in the rounding.", A_FEW, _total(_HELD, f"round({_HELD}, 1)")),
    Mutant(
        "weights forgotten",
        "All components weigh the same.",
        A_FEW,
        _total(_SUM, "math.fsum(components.values()) / len(components)"),
    ),
    Mutant("best component only", "The best component is the reward.", A_FEW, _total(_SUM, "max(components.values())")),
    Mutant(
        "unknown is full marks",
        "What the reference does not know earns everything.",
        ("sentiment",),
        (edit("reward:fill_unknown", ("min(mean, 1.0) if value is None", "1.0 if value is None")),),
    ),
    Mutant(
        "no number",
        "A text without words earns NaN.",
        ("insights", "push", "churn"),
        (edit("text.text_form:fluency", ("        return 0.0", '        return float("nan")')),),
    ),
    Mutant(
        "noise", "Rewards vary by some hundredths from call to call.", ("extraction",), (wrap("extraction", _noise),)
    ),
    Mutant(
        "stale cache",
        "The reward of a prompt's first completion is kept for all of them.",
        ("churn",),
        (wrap("churn", _kept_by_prompt),),
    ),
    Mutant(
        "one behind",
        "Each completion is given the reward of the one before it.",
        ("sentiment",),
        (wrap("sentiment", _one_behind),),
    ),
    Mutant(
        "first reference for all",
        "All completions of a batch are compared with the reference of the first.",
        ("push",),
        (wrap("push", _first_reference),),
    ),
    Mutant(
        "prompt scored too",
        "The completion is scored together with the prompt before it.",
        TASK_NAMES,
        tuple(wrap(task, _with_prompt) for task in TASK_NAMES),
    ),
)
