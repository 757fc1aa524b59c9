"""Insights: a short analysis of a small table of facts, with an action for each finding.

`grounded` (each component in [0, 1]; the V4.2 report's structure, action words and length, with the facts added):

- `facts`: how well the best three findings are quoted (fewer if fewer facts are given). A number counts if it is the
  cell of its row and of the column said beside it, in any notation or rounded as people round (`figures`), follows
  from cells as a difference, sum, share, ratio or mean (`derivations`), or bounds rows (`bounds`). It is worth 1 if it
  is the most informative of its column (the highest, the lowest rating), .6 at the other end, .3 between, and 1
  wherever the text rightly compares it: a finding is chosen. Pasted rows of the table and lines of the prompt are
  ignored. Gamed by a list of the highest
  of each column without analysis, which earns a quarter of the reward.
- `structure`: a heading (0.3) and up to three list items (0.7). Gamed by markup without content. Source: V4.2 report,
  structure marks.
- `actions`: up to three different verbs or nouns of the closed list of sensible advice, whose object a shop's analysis
  speaks of; .4 of one that mends what the table shows to be best, .6 of each further one that only looks (`conferir`).
  Advice that names nothing to act on earns nothing (`idleness`). Gamed by three pieces of advice that are sensible
  anywhere (`ouvir os clientes`), which earn all.
  Source: V4.2 report, action words.
- `length`: 1 from 150 to 600 characters, falling to 0 at 40 and at 1200. Gamed by padding. Source: V4.2 report,
  length.

The last three count in full only as far as `facts` are quoted, and a fifth at least; likewise only as far as the text
says more than the facts' own words. All four are multiplied by the requirements of an analysis (Portuguese, no heap of
keywords, not copied, no refusal, the manner of a shop) and by what its faults leave (`reading.AnalysisReading.sound`):

| fault | leaves |
|---|---|
| a false number, rank, comparison, tie, trend or share; a cause; a forecast; a row or period of no table | .62 |
| what no table knows (`inventions`): acts, events, goals, markets, scopes, guaranteed effects, wrong verdicts | .62 |
| a question that takes such a thing for granted | .62 |
| senseless advice: to things what is done to people, or an unlisted verb on a row or a column | .62 |
| harmful, deceptive or unlawful advice, by verb, object and condition (`harm`); a slur; a denial of the figures | .42 |
| advice of no list | .93 |
| a sentence on a row or column that neither a number nor a judged claim proves; .78 more in strange words | .68 |
| a sentence on nothing of the table; advice on everything or on nothing, as `revisar tudo` | .88 |
| the same behind a finding of its line; a closing word, as `vale acompanhar` (free behind a finding) | .95 |
| a sentence on nothing of the table in strange words, or in the instruction's own | .70 |
| an end of a sentence that is marked twice, as `..` and `!!` | .90 |
| strange words, of no list of Portuguese words, by their number; an unknown name counts twice | .99, .97, .94 ... |

Each applies again for each further fault. Credit comes from closed lists and costs from recognised faults: ordinary
words are free. Of 40 analyses of a fluent writer 39 earn .85 or more of a perfect one's, of 40 bad ones all lose .3. A
first-row template earns .56 on average, the best constant .04. What still pays: false things in forms that are no claim
here (irony, two sentences apart, conditions), and advice that is sensible anywhere.

`v4.2` (the V4.2 report's appendix, continuous where a part can be; it knows no reference):

- `actions`, .40: different verbs of action, up to four. Gamed by a heap of verbs.
- `length`, .30: 1 from 100 to 800 characters, falling to 0 at none and at 1600. Gamed by any text of that length.
- `structure`, .20: marks of headings, list items and bold type, up to four. Gamed by marks without content.
- `domain`, .10: different words of a shop, up to two. Gamed by a heap of keywords.
"""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Final

from tasks.commerce.insights.quotations import (
    PLACES,
    KnownFact,
    KnownFacts,
    know,
    read_quotations,
)
from tasks.commerce.insights.quotations import tokens_of as tokens_with_ends
from tasks.commerce.insights.reading import lower_case, read_analysis
from tasks.commerce.insights.sentences import lines_of, tokens_of, words_among
from tasks.commerce.insights.table import table_of
from tasks.commerce.reward import Reference, Reward, Score, fill_unknown
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.manner import manner
from tasks.commerce.text.portuguese_numbers import numbers_given, numbers_in
from tasks.commerce.text.text_form import (
    KEPT_PROMPTS,
    MAX_CHARACTERS,
    brevity,
    chatters,
    declines,
    fluency,
    fold,
    originality,
    ramp,
)
from tasks.commerce.text.wordings import read_wording

if TYPE_CHECKING:
    from schemas.tasks import SpecName
    from tasks.commerce.sql_qa.sandbox import Databases

DATA_FILES: Final = (
    "data/lexicons/action_verbs.txt",
    "data/lexicons/domain_words.txt",
    "data/lexicons/report_action_words.txt",
    "data/lexicons/states.txt",
    "data/wordings/insights.toml",
)
WORDING: Final = read_wording("insights")
WEIGHTS: Final = {"facts": 0.40, "structure": 0.20, "actions": 0.20, "length": 0.20}
V42_WEIGHTS: Final = {"actions": 0.40, "length": 0.30, "structure": 0.20, "domain": 0.10}
ENOUGH: Final = 3
"""Facts, list items and verbs of action required for the full value."""
LENGTHS: Final = (150, 600)
"""Length of an analysis in characters, for the reward and the metric."""
V42_ENOUGH: Final = 4
"""Verbs of action and structure marks that the V4.2 report's reward requires."""
V42_ENOUGH_DOMAIN: Final = 2
LIST_WORTH: Final = 0.5
"""Share of `facts` that a bare list of facts keeps."""
ENOUGH_COMMENT: Final = 3
"""Different words beyond the facts' own that make a text more than a list of them."""
MAX_LINES: Final = 60
TALKATIVE: Final = 0.7
"""What talk to the requester around an analysis leaves of all but its facts."""
SHORT_LINE: Final = 60
"""Characters up to which a line that speaks to the requester says nothing else."""

CARELESS: Final = 0.9
"""What each end of a sentence that is marked twice leaves: `..`, `!!`."""
_MARKED_TWICE: Final = ("..", ",,", "!!", "??")
_DOUBLED: Final = re.compile(r"(?<![.!?,])(?:\.\.(?!\.)|,,|!!|\?\?)")
_LINE: Final = re.compile(
    r"[ \t]*(?:(?P<item>[-*•–—]|(?P<ordinal>\d{1,2}[.)]))[ \t]+\**\w.{9}|(?P<heading>#{1,4}[ \t]*\w|\*\*\w))"
)
_LINE_ITEM: Final = re.compile(r"\s*(?:[-*]|\d{1,2}[.)])\s")
_NO_CLAIM: Final = re.compile(
    r"\b\d{1,2}[oa]\b|\bmetas?\b[^.\n]{0,30}?\d[\d.,]*|\breduz\w{0,9}[^.\n]{0,40}? para \d[\d.,]*"
    r"|\bem \d{1,3} (?:dias|semanas|meses)\b"
)
"""Places in a ranking, goals and terms."""
# Anchored at a number's beginning: otherwise every digit of a long one would be a new attempt.
_THOUSANDS: Final = re.compile(r"(?<![\d.,])(\d{1,9}(?:,\d{1,9})?) mil\b")
ORDINAL: Final = re.compile(r"^[ \t]*\d{1,2}[.)][ \t]", re.MULTILINE)
_CODES: Final = {
    name: code
    for code, name in sorted((line.split(" = ") for line in read_lexicon("states")), key=lambda pair: -len(pair[1]))
}
"""The codes of the states by their names, the longer names first."""
# "Mato Grosso do Sul" contains "Mato Grosso": neither name may stand for the other, whichever the table has.
_ANY_STATE: Final = re.compile(rf"\b(?:{'|'.join(_CODES)})\b(?! do Sul)")
_MARK: Final = re.compile(r"[ \t]*(?:[-*•–—#]|\d{1,2}[.)])[ \t]*\S")


def score(completion: str, prompt: str, reference: Reference | None, databases: "Databases | None") -> Score:  # noqa: ARG001 - every task's signature
    """Score the facts quoted, the structure, the actions and the length."""
    stripped = completion.strip()
    text = stripped[:MAX_CHARACTERS]
    facts = tuple((reference or {}).get("facts") or ())
    table = table_of(facts) if facts else None
    known = know(() if table else facts)
    names, given = (table.names, table.words) if table else (tuple(known.rows.values()), known.words)
    if facts:
        text = with_codes(own_lines(text, prompt), names)
    polite = 1.0
    if chatters(text) and (alone := _without_chatter(text)) != text:
        text, polite = alone, TALKATIVE
    items, headings, ordinals = _lines(text)
    folded = lower_case(ORDINAL.sub("", text) if ordinals else text)
    lines = lines_of(folded)
    text_words = [word for line in lines for word in line.words]
    present = set(text_words)
    own = originality(text_words, prompt, WORDING.system)
    if not text_words or not own:
        return Score(dict.fromkeys(WEIGHTS, 0.0))
    fluent = fluency(text_words)
    enough = min(ENOUGH, len(facts))
    sound = manner(text, folded, text_words)
    if any(map(text.__contains__, _MARKED_TWICE)):
        sound *= CARELESS ** len(_DOUBLED.findall(text))
    quoted: float | None
    advised: float
    if table:
        reading = read_analysis(text, folded, lines, present, prompt, table, headings, items)
        quoted = reading.coverage(enough)
        sound *= reading.sound()
        advised = min(reading.advice.credit(), ENOUGH)
    else:
        quoted = _quoted(folded, known, prompt) if facts else None
        advised = min(ACTION_VERBS.count(present), ENOUGH)
    if declines(folded, present, bool(quoted)):
        return Score(dict.fromkeys(WEIGHTS, 0.0))
    ground = 1.0 if quoted is None else 0.2 + 0.8 * quoted
    comment = ramp(sum(map(str.isalpha, present - given)), 0, ENOUGH_COMMENT) if facts else 1.0
    analysis = own * fluent * ground * sound * (0.2 + 0.8 * comment) * polite
    readable = (
        LIST_WORTH * (fluent if fluent == 1 else max(fluent, brevity(text_words))) + (1 - LIST_WORTH) * fluent * comment
    )
    components = {
        "facts": None if quoted is None else own * readable * sound * quoted * (1 + polite) / 2,
        "structure": analysis * (0.3 * any(headings) + 0.7 * min(len(items), ENOUGH) / ENOUGH),
        "actions": analysis * advised / ENOUGH,
        "length": analysis * ramp(len(stripped), 40, LENGTHS[0]) * ramp(len(stripped), 1200, LENGTHS[1]),
    }
    return Score(fill_unknown(components, WEIGHTS))


def _without_chatter(text: str) -> str:
    """Return a text without its short lines that speak to the requester; `Sugestão:` may stand inside a list item."""
    lines = text.split("\n")
    return "\n".join(line for line in lines if len(line) > SHORT_LINE or _LINE_ITEM.match(line) or not chatters(line))


def _lines(text: str) -> tuple[set[int], list[bool], bool]:
    """Return which lines are list items, of each whether it is a heading, and whether items are numbered."""
    items, headings, ordinals = set[int](), list[bool](), False
    for number, line in enumerate(text.split("\n", MAX_LINES)):
        match = _LINE.match(line)
        headings.append(bool(match and not match["item"]))
        if match and match["item"]:
            items.add(number)
            ordinals = ordinals or bool(match["ordinal"])
    return items, headings, ordinals


def own_lines(text: str, prompt: str) -> str:
    """Return a text without pasted rows of the table, which are not its own words."""
    lines = text.split("\n")
    given = _lines_given(prompt)
    if "|" not in text and given.isdisjoint(lines):
        return text
    return "\n".join(line for line in lines if _cells(line) not in given)


def _cells(line: str) -> str:
    """Return a line without the frame and the blanks of its cells; the rule of a table is nothing."""
    return " | ".join(cell for part in line.split("|") if (cell := part.strip(" \t-:")))


@lru_cache(maxsize=KEPT_PROMPTS)
def _lines_given(prompt: str) -> frozenset[str]:
    return frozenset(_cells(line) for line in prompt.split("\n") if line.strip())


def with_codes(text: str, rows: tuple[str, ...]) -> str:
    """Return a text that names the table's states by their codes, as the table does."""
    names = _state_names(rows)
    if not any(map(text.__contains__, names)):
        return text
    return _ANY_STATE.sub(lambda match: _CODES[match[0]] if match[0] in names else match[0], text)


@lru_cache(maxsize=KEPT_PROMPTS)
def _state_names(rows: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name, code in _CODES.items() if code in rows)


def invented_numbers(unknown: AbstractSet[float], folded: str, known: KnownFacts) -> AbstractSet[float]:
    """Exclude places in a ranking, goals and terms, and rounded or subtracted given numbers."""
    if not unknown:
        return unknown
    said = {number for found in _NO_CLAIM.findall(folded) for number in numbers_in(found)}
    rounded = {number for found in _THOUSANDS.findall(folded) for number in numbers_in(found) if _rounds(found, known)}
    return unknown - said - rounded - (_differences(known.facts) if "ponto" in folded else frozenset())


def _rounds(written: str, known: KnownFacts) -> bool:
    places = len(written.partition(",")[2])
    return any(abs(number / 1000 - numbers_in(written)[0]) <= 0.5 * 10**-places for number in known.numbers)


@lru_cache(maxsize=KEPT_PROMPTS)
def _differences(facts: tuple[KnownFact, ...]) -> frozenset[float]:
    """Return the differences between the numbers of each column."""
    return frozenset(
        round(abs(number - other), PLACES)
        for one, two in combinations(facts, 2)
        if one.labels == two.labels
        for number in one.numbers
        for other in two.numbers
    )


def _quoted(folded: str, known: KnownFacts, prompt: str) -> float:
    quotations = read_quotations(tokens_with_ends(folded), known)
    enough = min(ENOUGH, len(known.facts))
    coverage = sum(sorted(quotations.grades)[-enough:]) / enough
    faults = len(quotations.wrong)
    if quotations.unknown:
        faults += len(invented_numbers(quotations.unknown - numbers_given(prompt), folded, known))
    return coverage * (2 / 3) ** faults


class _Beginnings:
    """Word list of prefixes, looked up for a text's words."""

    def __init__(self, lexicon: str) -> None:
        self._beginnings = tuple(sorted({fold(entry) for entry in read_lexicon(lexicon)}))
        self._of_word = lru_cache(maxsize=16_384)(self._find)

    def _find(self, word: str) -> str | None:
        return next((beginning for beginning in self._beginnings if word.startswith(beginning)), None)

    def count(self, words: Iterable[str]) -> int:
        """Count the different prefixes among folded words."""
        return len(set(map(self._of_word, words)) - {None})


ACTION_VERBS: Final = _Beginnings("action_verbs")
_REPORT_ACTIONS: Final = _Beginnings("report_action_words")
_DOMAIN: Final = _Beginnings("domain_words")


def score_v42(completion: str, prompt: str, reference: Reference | None, databases: "Databases | None") -> Score:  # noqa: ARG001 - every task's signature
    """Score by the V4.2 report's appendix: action words, length, structure marks and domain mention."""
    stripped = completion.strip()
    text = stripped[:MAX_CHARACTERS]
    present = set(words_among(tokens_of(fold(text))))
    marks = sum(map(bool, map(_MARK.match, text.split("\n", MAX_LINES)))) + text.count("**") // 2
    return Score(
        {
            "actions": min(_REPORT_ACTIONS.count(present), V42_ENOUGH) / V42_ENOUGH,
            "length": ramp(len(stripped), 0, 100) * ramp(len(stripped), 1600, 800),
            "structure": min(marks, V42_ENOUGH) / V42_ENOUGH,
            "domain": min(_DOMAIN.count(present), V42_ENOUGH_DOMAIN) / V42_ENOUGH_DOMAIN,
        }
    )


REWARDS: Final[Mapping["SpecName", Reward]] = {
    "grounded": Reward(WEIGHTS, score),
    "v4.2": Reward(V42_WEIGHTS, score_v42),
}
