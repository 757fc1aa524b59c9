"""Baselines without the work: the best constant, the best rule on the prompt's own lines, and the best template.

They are chosen on one half of the known prompts and measured on the other half and on the fresh ones. None knows the
answer of the prompt that it is asked.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from schemas.errors import Interrupted
from tasks.audit.attack.bank import Bank
from tasks.audit.attack.candidate import Candidate
from tasks.audit.attack.measures import Target
from tasks.audit.attack.search import ExploitSearch
from tasks.audit.attack.setting import Setting
from tasks.audit.attack.slots import has_slots
from tasks.audit.critic.alteration import Case
from tasks.commerce.prompt_rule import PromptRule, choose_rule

MOST_EARNED: Final = 0.70
"""Highest mean reward of a constant and of a rule on simulated prompts."""
JUDGED: Final = 24
"""Prompts that choose among all candidates; the best few are compared on the whole half."""
FINALISTS: Final = 5
EVOLVED: Final = 60
"""Changes that are tried on the best constant and on the best template."""
ELITES: Final = 40
CONSTANTS_OF_A_RULE: Final = 12

Kind = Literal["constant", "rule", "template"]
Answer = Callable[[Case], str | None]


class CheapAnswer(BaseModel):
    """The best answer of one kind."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Kind
    reward: float
    """Mean on prompts that did not choose it."""
    truth: float
    """Mean ground truth there, as a share of the good answers'."""
    says: str
    """Its text, or the lines that a rule reads."""
    within: bool
    """Whether it earns no more than `MOST_EARNED`; a template may, since it can be the answer itself."""


def measure_baselines(
    setting: Setting, search: ExploitSearch, bank: Bank, stop: Callable[[], bool]
) -> list[CheapAnswer]:
    """Choose and measure the baselines of one task.

    Args:
        setting: The task's prompts and reward.
        search: A search, whose fittest candidates are tried too.
        bank: The material.
        stop: Returns whether to give up.

    Raises:
        Interrupted: It said so.
    """
    known = list(setting.material)
    chooser = _Chooser(setting.target, known[::2], bank, random.Random(f"{setting.seed}:baselines"), stop)
    others = [*known[1::2], *setting.fresh]
    own = [candidate for candidate in search.best_texts if candidate.base == "text"][:ELITES]
    texts = [Candidate("text", text) for text in dict.fromkeys((*bank.answers, *bank.fragments, *bank.rollouts))]
    constants = [each for each in (*texts, *own) if not each.reads_the_prompt]
    templates = [each for each in (*texts, *own) if each.reads_the_prompt]
    found: list[CheapAnswer] = []
    for kind, candidates in (("constant", constants), ("template", templates)):
        best = chooser.best(candidates, evolved=kind == "constant")
        if best is not None:
            found.append(_baseline(setting.target, "constant" if kind == "constant" else "template", _of(best), others))
            found[-1] = found[-1].model_copy(update={"says": _shown(best, others[0])})
    rule = chooser.rule()
    if rule is not None:
        known_rule = _baseline(setting.target, "rule", lambda case: rule.answer(case.prompt), others)
        found.insert(1, known_rule.model_copy(update={"says": f"a constant for each {', '.join(rule.names)}"}))
    return found


class _Chooser:
    def __init__(
        self, target: Target, cases: Sequence[Case], bank: Bank, generator: random.Random, stop: Callable[[], bool]
    ) -> None:
        self._target = target
        self._cases = cases
        self._bank = bank
        self._generator = generator
        self._stop = stop

    def best(self, candidates: Sequence[Candidate], *, evolved: bool) -> Candidate | None:
        """Return the candidate with the highest mean reward, after changes where asked."""
        if not candidates:
            return None
        first = sorted(candidates, key=lambda each: -self._mean(each, self._cases[:JUDGED]))[:FINALISTS]
        best = max(first, key=lambda each: self._mean(each, self._cases))
        return self._evolved(best) if evolved else best

    def _evolved(self, best: Candidate) -> Candidate:
        """Climb by changes that name no prompt."""
        highest = self._mean(best, self._cases)
        for _ in range(EVOLVED):
            operation = self._bank.draw(self._generator)
            if has_slots(operation.argument) or operation.name in {"alter", "hide_rest"}:
                continue
            child = best.then(operation)
            mean = self._mean(child, self._cases[:JUDGED])
            if mean > highest - 0.1 and (mean := self._mean(child, self._cases)) > highest:
                best, highest = child, mean
        return best

    def rule(self) -> PromptRule | None:
        """Return the best rule; None where the prompts have no lines to read."""
        counts = Counter(case.answer for case in self._cases).most_common(CONSTANTS_OF_A_RULE)
        constants = [answer for answer, _ in counts]
        earned = [[self._target.score(case, text)[0] for text in constants] for case in self._cases if self._goes_on()]
        return choose_rule([case.prompt for case in self._cases], constants, earned)

    def _goes_on(self) -> bool:
        if self._stop():
            raise Interrupted("interrupted")
        return True

    def _mean(self, candidate: Candidate, cases: Sequence[Case]) -> float:
        self._goes_on()
        texts = [(case, candidate.complete(case)) for case in cases]
        return fmean(0.0 if done is None else self._target.score(case, done.text)[0] for case, done in texts)


def _baseline(target: Target, kind: Kind, answer: Answer, cases: Sequence[Case]) -> CheapAnswer:
    rewards, truths = [], []
    for case in cases:
        text = answer(case)
        rewards.append(0.0 if text is None else target.score(case, text)[0])
        truths.append(0.0 if text is None else target.truth(case, text) / target.good(case)[1])
    reward = fmean(rewards)
    return CheapAnswer(
        kind=kind,
        reward=reward,
        truth=fmean(truths),
        says="",
        within=kind == "template" or reward <= MOST_EARNED,
    )


def _of(candidate: Candidate) -> Answer:
    def answer(case: Case) -> str | None:
        done = candidate.complete(case)
        return None if done is None else done.text

    return answer


def _shown(candidate: Candidate, case: Case) -> str:
    """Return a template as it is written, and a constant as it is sent."""
    if has_slots(candidate.text):
        return candidate.text
    done = candidate.complete(case)
    return candidate.text if done is None else done.text
