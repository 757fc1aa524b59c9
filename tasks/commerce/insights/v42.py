"""Reward of the V4.2 report on the rendered findings, continuous where a part can be; it knows no reference.

- `actions`, .40: different verbs of action, up to four. Gamed by a heap of actions.
- `length`, .30: 1 from 100 to 800 characters, falling to 0 at none and at 1600. Gamed by any text of that length.
- `structure`, .20: marks of headings, list items and bold type, up to four. Gamed by findings that say little.
- `domain`, .10: different words of a shop, up to two. Gamed by any two columns.
"""

import re
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final

from tasks.commerce.insights.render import render
from tasks.commerce.reward import Reference, Reward, Score
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import fold, ramp, words

if TYPE_CHECKING:
    from tasks.commerce.sql_qa.sandbox import Databases

DATA_FILES: Final = ("data/lexicons/domain_words.txt", "data/lexicons/report_action_words.txt")
WEIGHTS: Final = {"actions": 0.40, "length": 0.30, "structure": 0.20, "domain": 0.10}
ENOUGH: Final = 4
"""Verbs of action and structure marks that the V4.2 report's reward requires."""
ENOUGH_DOMAIN: Final = 2
_MARK: Final = re.compile(r"^[ \t]*(?:[-*•–—#]|\d{1,2}[.)])[ \t]*\S", re.MULTILINE)
_ACTIONS, _DOMAIN = (
    re.compile("|".join(sorted(map(fold, read_lexicon(name)), key=len, reverse=True)))
    for name in ("report_action_words", "domain_words")
)
"""Beginnings of words."""


def score(completion: str, prompt: str, reference: Reference | None, databases: "Databases | None") -> Score:  # noqa: ARG001 - every task's signature
    """Score by the V4.2 report's appendix: action words, length, structure marks and domain mention."""
    text = render(completion, prompt).text or ""
    present = set(words(text))
    marks = len(_MARK.findall(text)) + text.count("**") // 2
    return Score(
        {
            "actions": min(_count(_ACTIONS, present), ENOUGH) / ENOUGH,
            "length": ramp(len(text), 0, 100) * ramp(len(text), 1600, 800),
            "structure": min(marks, ENOUGH) / ENOUGH,
            "domain": min(_count(_DOMAIN, present), ENOUGH_DOMAIN) / ENOUGH_DOMAIN,
        }
    )


def _count(beginnings: re.Pattern[str], present: AbstractSet[str]) -> int:
    return len({found[0] for word in present if (found := beginnings.match(word))})


V42_REWARD: Final = Reward(WEIGHTS, score)
