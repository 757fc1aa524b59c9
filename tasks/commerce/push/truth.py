"""Ground truth of pushes, claim by claim, from the reference's product and offer.

What is said of the offer is marked part by part (`data/truth/push_claims.toml`), then the text is read by clause: an
opener claims little, and a clause that holds the offer goes on with the app, the shopper, the product, what it is for,
its deadline or a call, and with nothing else. What follows it is made of the words of harmless appeals, two others
aside, and what no shop sends (`data/truth/unsendable.toml`) stands nowhere. A good push in rarer words is lost by that.
Unseen: what an opener claims or slanders in words that no list has; two rare words in a call (`run until you drop`); a
name that begins a sentence; a condition that reads as a purpose (`for your family`); a salad of the right words; guilt
and irony in everyday words; whether it would open the app.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from typing import Final, NamedTuple

from schemas.documents import Rollout
from tasks.commerce.push.truth_clauses import AGAIN, OFFER, mark_product, other_names, read_clauses, unmarked
from tasks.commerce.reward import Reference
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.truth_text import MAX_TEXT, NUMBER, fold, is_unsendable, read_table, stem, value_of, words

DATA_FILES: Final = ("data/truth/push_claims.toml", "data/truth/unsendable.toml")
MOST_GRAPHEMES: Final = 120
"""What a phone shows of a push, and what the instruction asks for."""
MOST_LINES: Final = 2
"""A title and a body."""
SHOUTED: Final = 0.6
"""Share of capitals among the letters from which on a text shouts."""
ENOUGH_LETTERS: Final = 15
TOO_OFTEN: Final = 3
"""Times from which on a push that names its product is a heap of words."""
LONGEST_BEFORE: Final = 30
"""Characters before an amount that can change it, such as `up to`."""

_SPELLED: Final = {number: fold(word) for word, number in read_table("push_claims")["numbers"].items()}
_OBJECTS: Final = frozenset(("desconto", "cashback", "cupom", "brinde", "gratis"))
_SMALL: Final = frozenset(("a", "o", "as", "os", "de", "do", "da", "dos", "das", "e", "em", "para", "com", "por", "d"))
_FIGURE: Final = re.compile(rf"(?P<money>r\$ ?)?(?P<number>{NUMBER}) ?(?P<unit>%|por cento|reais|x\b|vezes|parcelas)?")
_SPELLED_FIGURE: Final = re.compile(
    rf"\b(?P<number>{'|'.join(sorted(_SPELLED.values(), key=len, reverse=True))}) "
    r"(?P<unit>por cento|reais|vezes|parcelas|unidades|pecas|horas?|dias?)\b"
)
_UNITS: Final = {"por cento": "%", "reais": "r$", "vezes": "x", "parcelas": "x"}
_CODE: Final = re.compile(r"\b(?!\d+OFF\b)(?=[A-Z]*\d)(?=\d*[A-Z]{2})[A-Z0-9]{5,20}\b")
"""A coupon's code, which no offer has."""
_QUESTION: Final = re.compile(r"(?:^|(?<=[.!?\n]))[^.!?\n]{0,200}\?")
_NAME: Final = re.compile(r"(?:(?<=[a-zà-ú,] )|(?<=\b[AO] ))[A-ZÀ-Ú][a-zà-ú]+")
_SPOKEN: Final = re.compile(r"[^\W\d_]{2,}")
_BLANKS: Final = re.compile(r" +")
_SHOUTS: Final = re.compile(r"!{4,}")


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return the share of the pushes that keep each claim, and all of them.

    - `within_length`: 1 to 120 graphemes, as a phone counts them.
    - `names_product`: every word of the product, in either number, or another name of it; and nothing that makes it
      another kind, a used one or a copy.
    - `names_offer`: every part of the offer, in figures or words: amount with its unit, object, condition, deadline;
      each in its relation (`until`, not `after`); nothing that denies, mocks or ends it; and nobody pays what it gives.
    - `nothing_added`: no figure but the offer's, with its unit, and no benefit, price, deadline, stock, condition,
      delivery, gift, code, award, name or address that it does not have; nothing but an offer's tail and harmless
      appeals behind it; and nothing that no shop sends.
    - `informal`: neither a letter's greeting or closing, nor shouting.
    - `in_portuguese`: at most one of the small words of English and Spanish, and none that only Portugal uses.
    - `one_message`: one push of a title and a body at most, and no talk about it.
    - `all_kept`: all of these. The strictest.

    What the metric cannot see is in the module's docstring.
    """
    kept: Counter[str] = Counter()
    count = 0
    for rollout in rollouts:
        if rollout.reference:
            count += 1
            claims = claims_kept(rollout.completion, rollout.reference, rollout.prompt)
            kept.update(claims | {"all_kept": all(claims.values())})
    return {name: kept[name] / count for name in kept} if count else {}


def claims_kept(completion: str, reference: Reference, prompt: str = "") -> dict[str, bool]:
    """Return, by its name, whether a push keeps each claim; what is said of the audience is in the prompt alone."""
    shown = completion.strip()
    text = shown[:MAX_TEXT]
    folded = unmarked(fold(text))
    product, offer = fold(reference.get("product") or ""), " ".join(fold(reference.get("offer") or "").split())
    thing, names = _content(product), other_names(product)
    present = Counter(stem(word) for word in words(folded))
    stated, rest = _without_offer(folded, offer)
    # What is said to the audience is no claim; the product's own name is none either.
    said = read_clauses(
        mark_product(_of_audience(prompt).sub(" ", rest), _content(product, is_whole=True), _head(product), names)
    )
    written = _written()
    return {
        "within_length": 0 < _graphemes(shown) <= MOST_GRAPHEMES,
        "names_product": (all(present[word] for word in thing) or _is_named(folded, names)) and not said.is_other_thing,
        "names_offer": stated and not said.is_denied and not _is_inverted(folded, rest, offer),
        "nothing_added": not _figures(folded, product)
        - _figures(offer, "")
        - _same_figures(offer)
        - {figure for figure in _figures(said.opener, product) if figure[0] in ("", "%")}
        and not said.is_added
        and not _CODE.search(text)
        and not is_unsendable(folded)
        and not _is_of_another(text, product),
        "informal": not written["formal"].search(folded) and not _shouts(text),
        "in_portuguese": sum(present[stem(word)] for word in _foreign() if stem(word) not in thing) <= 1
        and not written["european"].search(folded),
        "one_message": bool(shown) and said.mentions < TOO_OFTEN and not _is_several(text, folded, offer, thing),
    }


def _is_inverted(folded: str, rest: str, offer: str) -> bool:
    """Return whether the shopper pays what the offer gives."""
    inverted = _written()["inverted"]
    return "pague" not in offer and any(inverted.search(each) is not None for each in (folded, rest))


def _is_of_another(text: str, product: str) -> bool:
    """Return whether a name stands within a sentence that is no product's: of a person, a brand or a place."""
    known = {*read_table("push_claims")["capitals"]["words"], *words(product)}
    found = [word for match in _NAME.finditer(text) for word in words(fold(match[0]))]
    return not _is_titled(text) and any(word not in known for word in found)


def _is_titled(text: str) -> bool:
    """Return whether most words have a capital, as in a title, so that it marks no name."""
    spoken = [str(word) for word in _SPOKEN.findall(text)]
    capitals = sum(word[:1].isupper() for word in spoken)
    return 2 * capitals > len(spoken)


def _graphemes(text: str) -> int:
    if len(text) > 8 * MOST_GRAPHEMES:
        return len(text)
    if text.isascii():
        return len(text)
    import regex

    return len(regex.findall(r"\X", text))


@lru_cache(maxsize=4_096)
def _content(folded: str, *, is_whole: bool = False) -> frozenset[str]:
    """Return the stems of a product's words: those that name it, or all."""
    return frozenset(stem(word) for word in (words(folded) if is_whole else _naming(folded)) if word not in _SMALL)


def _head(folded: str) -> str:
    return stem(next(iter(_naming(folded)), ""))


def _naming(folded: str) -> list[str]:
    generic = read_table("push_claims")["generic"]["words"]
    found = [word for word in words(folded) if word not in _SMALL]
    return [word for word in found if word not in generic] or found


def _is_named(folded: str, names: AbstractSet[str]) -> bool:
    return any(re.search(rf"\b{re.escape(name)}\b", folded) for name in names)


class _OfferPart(NamedTuple):
    """A part of an offer: how it is said, and whether it is an amount of something."""

    said: re.Pattern[str]
    is_amount: bool = False


@lru_cache(maxsize=1_024)
def _parts(offer: str) -> tuple[_OfferPart, ...]:
    """Return each part of an offer; a part that the table does not have must stand in its words."""
    rest, found = offer, []
    for entry in read_table("push_claims")["part"]:
        for match in re.finditer(entry["of"], rest):
            ways = [_filled(way, match) for way in entry["said"]]
            is_amount = any(name in entry["of"] for name in ("desconto", "cashback", "cupom"))
            found.append(_OfferPart(re.compile("|".join(f"(?:{way})" for way in ways)), is_amount))
        rest = re.sub(entry["of"], " ", rest)
    left = [word for word in words(rest) if word not in _SMALL]
    return (*found, *(_OfferPart(re.compile(rf"\b{re.escape(word)}\b")) for word in left))


def _filled(way: str, match: re.Match[str]) -> str:
    for place, number in enumerate(match.groups(), 1):
        spelled = _SPELLED.get(int(number)) if number.isdecimal() and len(number) < 4 else None
        feminine = {"um": "uma", "dois": "duas"}.get(spelled or "")
        either = "|".join(filter(None, (rf"{number}(?:,00?)?", spelled, feminine)))
        way = way.replace(f"<{place}>", rf"(?<![\w.,])(?:{either})(?![.,]?\d)(?![a-wyz])")
    return way


def _without_offer(folded: str, offer: str) -> tuple[bool, str]:
    """Return whether every part of an offer is stated, and the text without what states it."""
    stated, rest = True, folded
    for part in _parts(offer):
        found = [match for match in part.said.finditer(folded) if _says(part, match)]
        stated = stated and bool(found)
        rest = part.said.sub(lambda match, part=part: f" {OFFER} " if _says(part, match) else match[0], rest)  # type: ignore[misc]
    # What the offer is may be said again without its amount.
    return stated, _BLANKS.sub(" ", _again(offer).sub(f" {AGAIN} ", rest)).strip()


def _says(part: _OfferPart, match: re.Match[str]) -> bool:
    """Whether what matches an offer's part says it, and not `up to` it, nor it of something else."""
    if not part.is_amount:
        return True
    written = _written()
    before = match.string[max(0, match.start() - LONGEST_BEFORE) : match.start()]
    return not written["before"].search(before) and not written["within"].search(match[0])


@lru_cache(maxsize=1_024)
def _again(offer: str) -> re.Pattern[str]:
    said = [rf"\b{word}\b" for word in words(offer) if word in _OBJECTS]
    ways = [way for entry in read_table("push_claims")["again"] if entry["of"] in offer for way in entry["said"]]
    return re.compile("|".join((*ways, *said)) or r"(?!)")


@lru_cache(maxsize=4_096)
def _of_audience(prompt: str) -> re.Pattern[str]:
    """Return what may be said to the audience that a prompt names."""
    asked = fold(prompt[:MAX_TEXT])
    ways = [way for entry in read_table("push_claims")["audience"] if entry["of"] in asked for way in entry["said"]]
    return re.compile("|".join(ways) or r"(?!)")


def _without(text: str, product: str) -> str:
    return text.replace(product, " § ") if product else text


def _figures(folded: str, product: str) -> set[tuple[str, float]]:
    """Return the figures of a text with their units; those of the product's name are none."""
    text = _without(folded, product)
    found = {
        (
            "r$" if match["money"] else _UNITS.get(match["unit"] or "", match["unit"] or ""),
            value_of(match["number"][:15]),
        )
        for match in _FIGURE.finditer(text)
    }
    values = {spelled: number for number, spelled in _SPELLED.items()}
    return found | {
        (_UNITS.get(match["unit"], ""), float(values[match["number"]])) for match in _SPELLED_FIGURE.finditer(text)
    }


@lru_cache(maxsize=1_024)
def _same_figures(offer: str) -> frozenset[tuple[str, float]]:
    """Return other ways to write an offer's figures: half is 50 %, and an amount may lose its unit beside its noun."""
    found = {("%", 50.0)} if "metade" in offer else set()
    if "segunda unidade" in offer:
        found |= {("", 2.0)}
    if "meia-noite" in offer:
        found |= {("", 0.0), ("", 24.0)}
    if "juros" in offer:
        found |= {("", 0.0), ("%", 0.0), ("", next((value for unit, value in _figures(offer, "") if unit == "x"), 0.0))}
    return frozenset(found)


def _shouts(text: str) -> bool:
    if _SHOUTS.search(text):
        return True
    letters = [letter for letter in text if letter.isalpha()]
    return len(letters) >= ENOUGH_LETTERS and sum(map(str.isupper, letters)) > SHOUTED * len(letters)


def _is_several(text: str, folded: str, offer: str, thing: frozenset[str]) -> bool:
    if len([line for line in text.splitlines() if line.strip()]) > MOST_LINES or _written()["talk"].search(folded):
        return True
    parts = _parts(offer)
    # A question that the next sentence answers is no push of its own.
    stated = _QUESTION.sub(" ", folded)
    twice = bool(parts) and all(len(part.said.findall(stated)) > 1 for part in parts)
    present = Counter(stem(word) for word in words(stated))
    return twice and (not thing or all(present[word] > 1 for word in thing))


@cache
def _written() -> Mapping[str, re.Pattern[str]]:
    table = read_table("push_claims")
    return {name: re.compile("|".join(f"(?:{each})" for each in table[name]["said"])) for name in (
        "before", "within", "formal", "talk", "european", "inverted",
    )}  # fmt: skip


@cache
def _foreign() -> frozenset[str]:
    return frozenset(read_table("push_claims")["foreign"]["words"])
