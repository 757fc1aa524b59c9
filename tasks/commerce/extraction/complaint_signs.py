"""Signs of complaints and of intentions in a text, a review or a complaint: what its words plainly say.

Signs are data (`data/lexicons/complaint_signs.txt`, `intention_signs.txt`, `topic_words.txt`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from tasks.commerce.text.lexicons import read_data, read_lexicon
from tasks.commerce.text.text_form import KEPT_PROMPTS, fold

DATA_FILES: Final = (
    "data/lexicons/complaint_signs.txt",
    "data/lexicons/intention_signs.txt",
    "data/lexicons/review_patterns.toml",
    "data/lexicons/topic_words.txt",
)
MAX_READ: Final = 2_000
"""Characters of a review that are read; Olist's messages have at most 204."""
TAKEN: Final = "+"
"""Mark of words that a sign has taken."""
TAKEN_AS_LOST: Final = "#"
"""Mark of words with which something has not come."""
LOST: Final = "produto não entregue"

_TOKEN: Final = re.compile(r"[a-z]+|\d+|[.!?;:,\n]+")
_SPELT: Final[Mapping[str, str]] = read_data("lexicons/review_patterns.toml")["spelling"]
NEGATIONS: Final = ("nao", "sem", "nem", "nunca", "nenhum", "nenhuma", "jamais", "ninguem")
_DENIAL: Final = (
    rf"(?P<denial>\b(?:{'|'.join(NEGATIONS)}) "
    r"(?:(?!(?:recomend|compr|gost|indic|aconselh|e |mas |porem |que |pois |porque |so ))\w+ ){0,2})?"
)
_TURNING: Final = frozenset((*NEGATIONS, "deveria", "devia", "era", "fora", "dificilmente", "nada"))
_CLAUSE_END: Final = re.compile(r"[.!?;:,\n]")
_SENTENCE_END: Final = re.compile(r"[.!?\n]")
_TURN_END: Final = re.compile(r"[;:,]| (?:mas|porem|e|so|pois|entao|por isso) ")
_DOUBTING: Final = frozenset((*NEGATIONS, "dificilmente", "talvez", "impossivel"))
_CONDITIONS: Final = re.compile(r" (?:desde que|se|caso|quando|quem sabe|apenas se|a menos|enquanto|ate) ")
REACH: Final = 60
"""Characters before a phrase in which a negation is looked for."""
_GAP: Final = r"(?:(?!(?:mas|porem|contudo|entretanto|pois|porque) )\w+ ){0,3}"


@dataclass(frozen=True)
class ComplaintReading:
    """Complaints of one review, or of one complaint."""

    plain: tuple[str, ...]
    """Complaints that it plainly makes, in the order of `complaint_signs.txt`."""
    intentions: tuple[tuple[str, bool], ...]
    """Fields of intention that it states, with their values."""
    open_topics: frozenset[str]
    """Topics of which a word is left that no sign has taken, and `reserve`."""
    rest: str
    """What the signs have left."""


@dataclass(frozen=True)
class _Sign:
    category: str
    complaint: str
    denying: re.Pattern[str] | None
    """Phrases that begin with a negation, which none before them turns round."""
    stating: re.Pattern[str] | None
    """Other phrases, with the negation before them if there is one."""

    @property
    def mark(self) -> str:
        """What takes the place of its words."""
        return TAKEN_AS_LOST if self.complaint == LOST else TAKEN


@lru_cache(maxsize=KEPT_PROMPTS)
def read_complaints(text: str) -> ComplaintReading:
    """Read a text's complaints."""
    spoken = spoken_words(text[:MAX_READ])
    intentions = _intentions(spoken)
    plain: list[str] = []
    for sign in _signs():
        stated = 0
        if sign.denying is not None:
            spoken, stated = sign.denying.subn(sign.mark, spoken)
        if sign.stating is not None and (found := [each["denial"] for each in sign.stating.finditer(spoken)]):
            stated += found.count(None)
            spoken = sign.stating.sub(sign.mark, spoken)
        if stated and sign.complaint:
            plain.append(sign.complaint)
    topics = frozenset(topic for topic, pattern in _topics().items() if pattern.search(spoken))
    return ComplaintReading(tuple(dict.fromkeys(plain)), intentions, topics, spoken)


def is_said(phrase: re.Pattern[str], spoken: str) -> bool:
    """Return whether a phrase stands in spoken words with no negation or duty shortly before it in its clause."""
    return any(
        not _TURNING.intersection(
            _CLAUSE_END.split(spoken[max(found.start() - REACH, 0) : found.start()])[-1].split()[-5:]
        )
        for found in phrase.finditer(spoken)
    )


def _intentions(spoken: str) -> tuple[tuple[str, bool], ...]:
    """Return the intentions that words state; those that they state and deny are unknown."""
    said: dict[str, set[bool]] = {}
    for field, value, pattern in _intention_signs():
        places = [found.span() for found in pattern.finditer(spoken)]
        if places:
            doubted = value and any(_is_doubted(spoken, start, end) for start, end in places)
            said.setdefault(field, set()).update((value, not value) if doubted else (value,))
            spoken = pattern.sub(TAKEN, spoken)
    return tuple((field, values.pop()) for field, values in said.items() if len(values) == 1)


def _is_doubted(spoken: str, start: int, end: int) -> bool:
    """Return whether an intention is denied from afar, or has a condition before or after it."""
    before = _SENTENCE_END.split(spoken[max(start - REACH, 0) : start])[-1]
    after = _SENTENCE_END.split(spoken[end : end + REACH])[0]
    own = set(_TURN_END.split(before)[-1].split())
    return bool(own & _DOUBTING or _CONDITIONS.search(f" {before}") or _CONDITIONS.search(f"{after} "))


@cache
def _intention_signs() -> tuple[tuple[str, bool, re.Pattern[str]], ...]:
    lines = [line.split(": ") for line in read_lexicon("intention_signs")]
    return tuple(
        (field, value == "true", re.compile(rf"\b{_any_of(phrases.split(', '))}\b")) for field, value, phrases in lines
    )


def spoken_words(text: str) -> str:
    """Return folded words between single spaces; a mark ends a clause."""
    tokens = _TOKEN.findall(fold(text))
    return f" {' '.join(_SPELT.get(token, token) for token in tokens)} "


@cache
def _signs() -> tuple[_Sign, ...]:
    lines = [line.split(": ") for line in read_lexicon("complaint_signs")]
    return tuple(_sign(*line) for line in lines)


@cache
def categories() -> Mapping[str, str]:
    """Return the category of each complaint."""
    return {sign.complaint: sign.category for sign in _signs() if sign.complaint}


@cache
def _topics() -> Mapping[str, re.Pattern[str]]:
    lines = [line.split(": ") for line in read_lexicon("topic_words")]
    return {topic: re.compile(rf" (?:{'|'.join(map(_word, words.split(', ')))}) ") for topic, words in lines}


def _sign(category: str, complaint: str, phrases: str) -> _Sign:
    # Longer phrases first: they say more of the complaint.
    ordered = sorted(phrases.split(", "), key=len, reverse=True)
    denying = [phrase for phrase in ordered if phrase.split()[0] in NEGATIONS]
    stating = [phrase for phrase in ordered if phrase.split()[0] not in NEGATIONS]
    return _Sign(
        category,
        complaint.strip("-"),
        re.compile(rf"\b{_any_of(denying)}\b") if denying else None,
        re.compile(rf"{_DENIAL}\b{_any_of(stating)}\b") if stating else None,
    )


def _any_of(phrases: Sequence[str]) -> str:
    return f"(?:{'|'.join(map(_phrase, phrases))})"


def _phrase(phrase: str) -> str:
    written = ""
    for word in phrase.split():
        written += _GAP if word == "..." else rf"(?:{'|'.join(map(_word, word.split('|')))}) "
    return written.rstrip()


def _word(word: str) -> str:
    return re.escape(word).replace(r"\*", r"\w*")
