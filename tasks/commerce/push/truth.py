"""Ground truth of pushes in phrases, from the reference's product and offer, by code that no reward shares.

The phrases are data that both read: they say which openers fit which products, and which offers have a deadline.
Unseen: whether product and offer may be sent at all, which no answer decides; whether the push suits its audience, and
whether it would open the app.
"""

import copy
import itertools
import os
import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final

import regex

from schemas.documents import Rollout
from tasks.commerce.reward import Reference
from tasks.commerce.truth_text import read_data, shares_kept

DATA_FILES: Final = (
    "data/evidence/push.toml",
    "data/campaigns/things.toml",
    "data/lexicons/categories.txt",
    "$TUCANO_PHRASES",
)
_ROOT: Final = Path(__file__).resolve().parents[3]
MOST_GRAPHEMES: Final = 120
SHORTEST_WORD, HIGHEST_PERCENTAGE, MOST_PARTS = 3, 90, 24
_AMOUNT: Final = "[0-9][0-9.,]*(?<=[0-9])"
_LETTERS: Final = regex.compile(r"[\p{L}\p{M}\p{N}_-]+")
_FIELDS: Final = ("{produto}", "{oferta}")


def metric(rollouts: Sequence[Rollout], _: object) -> dict[str, float]:
    """Return the share of the pushes that keep each claim, and all of them.

    - `in_form`: an opener or none, a core, and a closer or none, all of the phrases.
    - `suits_the_campaign`: the opener is of the product's group or for all, and the closer suits the offer.
    - `offer_as_it_is`: an offer of no known form is only told, and `com` stands before no sentence.
    - `no_repetition`: no phrase has a word of another, of the product or of the offer.
    - `within_length`: 1 to 120 graphemes, filled in.
    - `all_kept`: all of these. The strictest.
    """
    return shares_kept([claims_kept(each.completion, each.reference) for each in rollouts if each.reference])


def claims_kept(completion: str, reference: Reference) -> dict[str, bool]:
    """Return, by its name, whether a push keeps each claim."""
    product, offer = str(reference.get("product") or ""), str(reference.get("offer") or "")
    data, (opener, core, closer) = _data(), _split(completion)
    form: Mapping[str, Any] = next((each for each in data["nucleos"] if each["texto"] == core), {})
    strings, said = _words(f"{product} {offer}"), [word for part in (opener, core, closer) for word in _words(part)]
    text = completion.replace(_FIELDS[0], product).replace(_FIELDS[1], offer)
    is_bound = "em {produto}" in core.casefold() and regex.fullmatch(data["presos"], product.casefold())
    kinds = {kind for kind in ("com", "outras") if _is_known(offer, data["ofertas"][kind])}
    allowed = {"todas": True, "conhecidas": bool(kinds), "com": "com" in kinds}
    return {
        "in_form": bool(form),
        "suits_the_campaign": bool(form)
        and not is_bound
        and (not opener or opener in _openers_for(product.casefold()))
        and (closer not in data["fechos"]["conhecidas"] or bool(kinds)),
        "offer_as_it_is": bool(form) and allowed[form["para"]],
        "no_repetition": len(said) == len(set(said)) and strings.isdisjoint(said),
        "within_length": 0 < len(regex.findall(r"\X", text)) <= MOST_GRAPHEMES,
    }


def _split(text: str) -> tuple[str, str, str]:
    """Return opener, core and closer; all empty where the text is not made of them."""
    data = _data()
    openers = ["", *(f"{each} " for group in data["grupos"].values() for each in group["aberturas"])]
    closers = ["", *(f" {each}" for each in (*data["fechos"]["todas"], *data["fechos"]["conhecidas"]))]
    cores = {each["texto"] for each in data["nucleos"]}
    for opener, closer in itertools.product(filter(text.startswith, openers), filter(text.endswith, closers)):
        core = text[len(opener) : len(text) - len(closer)]
        if core in cores:
            return opener.rstrip(), core, closer.lstrip()
    return "", "", ""


@cache
def _openers_for(product: str) -> set[str]:
    things = read_data(DATA_FILES[1])
    lines = (_ROOT / DATA_FILES[2]).read_text(encoding="utf-8").splitlines()
    named = {name.strip() for name, _, words in (line.partition("=") for line in lines) if words.strip() == product}
    sold = {name for name, each in things.items() if product in map(str.casefold, each)}
    names = {product} | sold | (named - things.keys())
    groups = (group for name, group in _data()["grupos"].items() if name == "geral" or names & set(group["de"]))
    return {opener for group in groups for opener in group["aberturas"]}


def _is_known(offer: str, forms: Sequence[str]) -> bool:
    """Return whether an offer is a form whose numbers can be: a percentage, or fewer paid for than are taken."""
    written = regex.findall(_AMOUNT, offer.casefold())
    if not all(regex.fullmatch(r"(?:[0-9]{1,3}(?:\.[0-9]{3})+|[0-9]+)(?:,[0-9]+)?", each) for each in written):
        return False
    amounts = [Decimal(each.replace(".", "").replace(",", ".")) for each in written]
    said = regex.sub(_AMOUNT, "#", offer.casefold())
    is_share = "#%" in said and all(1 <= each <= HIGHEST_PERCENTAGE for each in amounts)
    is_some = "r$" in said or all(each % 1 == 0 and each <= MOST_PARTS for each in amounts)
    is_count = "#%" not in said and all(amounts) and all(few < many for many, few in itertools.pairwise(amounts))
    return "#" not in offer and said in forms and (is_share or (is_some and is_count))


@cache
def _words(text: str) -> frozenset[str]:
    found = _LETTERS.findall(text.casefold().replace(_FIELDS[0], " ").replace(_FIELDS[1], " "))
    return frozenset(word for word in found if len(word) >= SHORTEST_WORD and word not in _data()["repetem"])


@cache
def _data() -> Mapping[str, Any]:
    data = copy.deepcopy(read_data(DATA_FILES[0]))
    own = os.environ.get(DATA_FILES[3].removeprefix("$"))
    for each in tomllib.loads(Path(own).read_text(encoding="utf-8"))["aberturas"] if own else ():
        data["grupos"][each["grupo"]]["aberturas"].append(each["texto"])
    return data
