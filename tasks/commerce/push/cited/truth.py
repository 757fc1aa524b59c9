"""Ground truth of pushes in phrases, from the reference's product and offer, by code that no reward shares.

The phrases are data that both read: they say which openers fit which products, and which offers have a deadline.
Unseen: whether the push suits its audience, and whether it would open the app.
"""

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import regex

from schemas.documents import Rollout
from tasks.commerce.reward import Reference
from tasks.commerce.sql_qa.sandbox import Databases

DATA_FILES: Final = ("data/evidence/push.toml", "data/campaigns/things.toml", "data/lexicons/categories.txt")
_ROOT: Final = Path(__file__).resolve().parents[4]
MOST_GRAPHEMES: Final = 120
"""What a phone shows of a push, and what the system prompt asks for."""
SHORTEST_WORD: Final = 3
"""Letters from which on a word may stand once."""
_LETTERS: Final = regex.compile(r"[\p{L}\p{M}\p{N}_-]+")
_FIELDS: Final = ("{produto}", "{oferta}")


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return the share of the pushes that keep each claim, and all of them.

    - `in_form`: an opener or none, a core, and a closer or none, all of the phrases.
    - `suits_the_campaign`: the opener is of the product's group or for all, and a closer with a deadline has one.
    - `condition_last`: an offer that may have a condition ends its core, and `com` stands before no sentence.
    - `no_repetition`: no phrase has a word of another, of the product or of the offer.
    - `within_length`: 1 to 120 graphemes, filled in.
    - `all_kept`: all of these. The strictest.
    """
    kept: Counter[str] = Counter()
    count = 0
    for rollout in rollouts:
        if rollout.reference:
            count += 1
            claims = claims_kept(rollout.completion, rollout.reference)
            kept.update(claims | {"all_kept": all(claims.values())})
    return {name: kept[name] / count for name in kept} if count else {}


def claims_kept(completion: str, reference: Reference) -> dict[str, bool]:
    """Return, by its name, whether a push keeps each claim."""
    product, offer = str(reference.get("product") or ""), str(reference.get("offer") or "")
    data, (opener, core, closer) = _data(), _split(completion)
    cores = {each["texto"]: each for each in data["nucleos"]}
    form = cores.get(core, {})
    strings, parts = _words(f"{product} {offer}"), [_words(part) for part in (opener, core, closer)]
    said = [word for part in parts for word in part]
    text = completion.replace(_FIELDS[0], product).replace(_FIELDS[1], offer)
    return {
        "in_form": bool(form),
        "suits_the_campaign": bool(form)
        and (not opener or opener in _openers_for(product))
        and (closer not in data["fechos"]["com_prazo"] or _has_any(offer, data["prazos"])),
        "condition_last": bool(form)
        and (bool(form.get("no_fim")) or _is_free(offer))
        and (not form.get("com") or _takes_com(offer)),
        "no_repetition": len(said) == len(set(said)) and strings.isdisjoint(said),
        "within_length": 0 < len(regex.findall(r"\X", text)) <= MOST_GRAPHEMES,
    }


def _split(text: str) -> tuple[str, str, str]:
    """Return opener, core and closer; all empty where the text is not made of them."""
    data = _data()
    openers = ["", *(f"{each} " for group in data["grupos"].values() for each in group["aberturas"])]
    closers = ["", *(f" {each}" for each in (*data["fechos"]["sempre"], *data["fechos"]["com_prazo"]))]
    cores = {each["texto"] for each in data["nucleos"]}
    for opener in filter(text.startswith, openers):
        for closer in filter(text.endswith, closers):
            core = text[len(opener) : len(text) - len(closer)]
            if core in cores:
                return opener.rstrip(), core, closer.lstrip()
    return "", "", ""


def _openers_for(product: str) -> set[str]:
    names = {product.casefold()} | _categories_of(product.casefold())
    groups = (group for name, group in _data()["grupos"].items() if name == "geral" or names & set(group["de"]))
    return {opener for group in groups for opener in group["aberturas"]}


@cache
def _categories_of(product: str) -> set[str]:
    things = tomllib.loads((_ROOT / DATA_FILES[1]).read_text(encoding="utf-8"))
    lines = (_ROOT / DATA_FILES[2]).read_text(encoding="utf-8").splitlines()
    named = {name.strip() for name, _, words in (line.partition("=") for line in lines) if words.strip() == product}
    return {name for name, each in things.items() if product in map(str.casefold, each)} | (named - things.keys())


def _is_free(offer: str) -> bool:
    forms = (form.split("#") for form in _data()["sem_condicao"])
    return any(_fills(offer.casefold(), form) for form in forms)


def _fills(text: str, form: Sequence[str]) -> bool:
    """Return whether a text has the form's parts with one number between each two."""
    first, *others = form
    if not text.startswith(first):
        return False
    rest = text.removeprefix(first)
    for part in others:
        number = rest[: len(rest) - len(rest.lstrip("0123456789.,"))]
        if not number or not (number[0].isdigit() and number[-1].isdigit()):
            return False
        rest = rest.removeprefix(number)
        if not rest.startswith(part):
            return False
        rest = rest.removeprefix(part)
    return not rest


def _takes_com(offer: str) -> bool:
    first = offer.casefold().partition(" ")[0]
    return first[:1].isdigit() or first in _data()["com"]


def _has_any(offer: str, phrases: Iterable[str]) -> bool:
    spaced = f" {' '.join(_LETTERS.findall(offer.casefold()))} "
    return any(f" {phrase} " in spaced for phrase in phrases)


@cache
def _words(text: str) -> frozenset[str]:
    for field in _FIELDS:
        text = text.replace(field, " ")
    found = _LETTERS.findall(text.casefold())
    return frozenset(word for word in found if len(word) >= SHORTEST_WORD and word not in _data()["repetem"])


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads((_ROOT / DATA_FILES[0]).read_text(encoding="utf-8"))
