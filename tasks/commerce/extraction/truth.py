"""Ground truth of extraction, from the reference alone.

The answer is what `json.loads` makes of the whole completion, or of one code fence around it: a word makes it none.
Unseen: fields that the reference does not know, and whatever is said of a complaint that is
none of `data/truth/complaint_topics.toml`.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final

from schemas.documents import Rollout
from schemas.references import ExtractionFields
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.truth_text import fold, number_of, read_object, read_table, share_of, stem, words

DATA_FILES: Final = ("data/truth/complaint_topics.toml",)
COMPLAINT: Final = "main_complaint"
FIELDS: Final = frozenset(ExtractionFields.model_fields)
MAX_COMPLAINT: Final = 100
"""Characters of a complaint: a longer one is no short text."""

_REVIEW: Final = re.compile(r"^Avaliação: ", re.MULTILINE)
_PART: Final = re.compile(r"[,;/\n]|\. | e (?:tambem )?| alem d\w+ ")


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return what is right of the fields that the reference knows.

    - `field_f1`: micro-F1 over (field, value) of the fields but the complaint, each of its JSON type, a risk by its
      tenth. A field of the answer that the reference does not know is neither right nor wrong. Where nine of ten
      reviews praise, the constant of praise earns a good deal of it.
    - `complaint`: share of the known complaints that are named: one topic, the reference's, in words of the topic, of
      the review and of everyday (`data/truth/complaint_topics.toml`), not denied; or none where there is none.
    - `exact`: share of the answers in which every known field is right, the complaint too, and no field is there that
      nobody asked for. The strictest.
    """
    right = given = known = 0
    complaints: list[bool] = []
    exact: list[bool] = []
    for rollout in rollouts:
        wanted = {name: value for name, value in ((rollout.reference or {}).get("fields") or {}).items()
                  if value is not None}  # fmt: skip
        if not wanted:
            continue
        fields = read_object(rollout.completion) or {}
        agree = {
            name: is_same(name, fields.get(name), value)
            if name != COMPLAINT
            else is_complaint(fields.get(name), value, rollout.prompt)
            for name, value in wanted.items()
        }
        valued = wanted.keys() - {COMPLAINT}
        known += len(valued)
        given += sum(fields.get(name) is not None for name in valued)
        right += sum(agree[name] for name in valued)
        complaints += [agree[COMPLAINT]] if COMPLAINT in wanted else []
        exact.append(all(agree.values()) and fields.keys() <= FIELDS)
    rates = {"complaint": complaints, "exact": exact}
    f1 = {"field_f1": 2 * right / (given + known)} if known else {}
    return f1 | {name: sum(each) / len(each) for name, each in rates.items() if each}


def is_same(name: str, found: object, wanted: object) -> bool:
    """Return whether a field has the reference's value and its JSON type."""
    if name == "churn_risk":
        risk, right = share_of(found), number_of(wanted)
        return risk is not None and right is not None and round(10 * risk) == round(10 * right)
    return type(found) is type(wanted) and found == wanted


def is_complaint(found: object, wanted: str, prompt: str = "") -> bool:
    """Return whether a complaint is the reference's, in whatever words; two empty ones agree."""
    if not isinstance(found, str) or len(found) > MAX_COMPLAINT:
        return False
    # Folded, "é" is the "e" that parts two complaints.
    said = " ".join(fold(found.replace(" é ", " eh ")).split())
    if not said or not wanted.strip():
        return not said and not wanted.strip()
    plain = " ".join(fold(wanted).split())
    if said.rstrip(".!") == plain:
        return True
    topic = _topic_named(plain)
    return _shares_words(said, plain) if topic is None else _is_about(said, plain, topic, prompt)


def _is_about(said: str, plain: str, topic: str, prompt: str) -> bool:
    if _is_denied(said, plain):
        return False
    named = [names for part in _PART.split(said) if (names := _topics_in(part))]
    patterns = _topics()[topic]
    if not named or any(names[0] != topic or not patterns.beside.issuperset(names) for names in named):
        return False
    review = prompt[_REVIEW.search(prompt).end() :] if _REVIEW.search(prompt) else ""  # type: ignore[union-attr]
    allowed = _everyday() | _stems_of(plain) | _stems_of(fold(review))
    spoken = [each for name in patterns.beside for each in _topics()[name].words]
    return all(stem(word) in allowed or any(each.search(word) for each in spoken) for word in words(said))


class _Topic:
    """What shoppers complain of, the words for it, and the topics whose words may stand beside."""

    def __init__(self, name: str, entry: Mapping[str, Any]) -> None:
        phrases: list[str] = entry["said"]
        self.named = frozenset(map(fold, entry["names"]))
        self.said = re.compile("|".join(_pattern(phrase) for phrase in phrases))
        single = {piece for phrase in phrases for piece in phrase.split() if len(piece) > 2}
        self.beside = frozenset((name, *entry.get("beside", ())))
        self.words = tuple(re.compile(rf"^{re.escape(piece.rstrip('*'))}") for piece in sorted(single))


def _pattern(phrase: str) -> str:
    """Return the pattern of a phrase: a star is any ending, a blank at most two words that stand between."""
    pieces = [rf"\b{re.escape(piece.rstrip('*'))}" + (r"\w*" if piece.endswith("*") else r"\b")
              for piece in phrase.split()]  # fmt: skip
    return r"(?:\W+\w+){0,2}?\W+".join(pieces)


@cache
def _topics() -> Mapping[str, _Topic]:
    return {name: _Topic(name, entry) for name, entry in read_table("complaint_topics")["topic"].items()}


@cache
def _everyday() -> frozenset[str]:
    return frozenset(stem(fold(word)) for word in read_table("complaint_topics")["everyday"])


@lru_cache(maxsize=1_024)
def _topic_named(plain: str) -> str | None:
    return next((name for name, topic in _topics().items() if plain in topic.named), None)


@lru_cache(maxsize=8_192)
def _topics_in(part: str) -> tuple[str, ...]:
    """Return the topics whose words a part of a complaint has; the first, which is the narrowest, is what it names."""
    return tuple(name for name, topic in _topics().items() if topic.said.search(part))


def _is_denied(said: str, plain: str) -> bool:
    if plain in said and re.search(rf"\b(?:sem|nenhum\w*|nao houve|nao ha|nao teve) {re.escape(plain)}", said):
        return True
    return any(phrase in said for phrase in read_table("complaint_topics")["denials"])


def _stems_of(folded: str) -> set[str]:
    return {stem(word) for word in words(folded)}


def _shares_words(said: str, plain: str) -> bool:
    """Return whether at least half of the words of two complaints are the same: the topic is unknown."""
    mine, other = (_stems_of(text) - _everyday() for text in (said, plain))
    return bool(mine & other) and 2 * len(mine & other) >= max(len(mine), len(other))
