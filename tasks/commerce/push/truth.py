"""Ground truth of pushes in phrases, from the reference's product and offer, by code that no reward shares.

The phrases are data that both read: they say which openers fit which products, and which offers have a deadline.
Unseen: whether the push suits its audience, and whether it would open the app.
"""

import itertools
import os
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from string import digits
from typing import Any, Final

import regex

from schemas.documents import Rollout
from tasks.commerce.reward import Reference
from tasks.commerce.truth_text import shares_kept

DATA_FILES: Final = (
    "data/evidence/push.toml",
    "data/campaigns/things.toml",
    "data/lexicons/categories.txt",
    "data/evidence/regulated.toml",
    "$TUCANO_PHRASES",
    "data/lexicons/offences.txt",
    "data/lexicons/discrimination.txt",
)
_ROOT: Final = Path(__file__).resolve().parents[3]
MOST_GRAPHEMES: Final = 120
SHORTEST_WORD: Final = 3
HIGHEST_PERCENTAGE: Final = 90
SHORT_WORD: Final = 4
_LETTERS: Final = regex.compile(r"[\p{L}\p{M}\p{N}_-]+")
MARKS: Final = " $%&'\"()+,./:!?#×–ºª°²³®™-"
_SHOWN: Final = regex.compile(r"[A-Za-z\u00c0-\u017f--[×÷]]|[\u2600-\u27bf\U0001f300-\U0001faff]", regex.VERSION1)
_ADDRESS: Final = regex.compile(r"[\p{L}\p{N}]\.\p{L}{2}|\p{L}:[^ ]|\p{N}(?:\.\p{N}+){3}")
_NUMBERS: Final = regex.compile(r"[0-9][0-9 ()./-]*")
DIGITS_OF_A_TELEPHONE: Final = 8
_DATE: Final = regex.compile(r"(?<![0-9][ ()./-]*)[0-9]{2}/[0-9]{2}/[0-9]{4}(?![ ()./-]*[0-9])")
_PERCENT: Final = regex.compile("%")
TITLES: Final = ("dr.", "sr.", "mr.", "st.", "sra.", "mrs.", "prof.")
_FIELDS: Final = ("{produto}", "{oferta}")


def metric(rollouts: Sequence[Rollout], _: object) -> dict[str, float]:
    """Return the share of the pushes that keep each claim, and all of them.

    - `may_be_sent`: product and offer are names and no sentence or address, and no law of the list is about them.
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
    cores = {each["texto"]: each for each in data["nucleos"]}
    form = cores.get(core, {})
    strings, parts = _words(f"{product} {offer}"), [_words(part) for part in (opener, core, closer)]
    said = [word for part in parts for word in part]
    text = completion.replace(_FIELDS[0], product).replace(_FIELDS[1], offer)
    article, _, named = product.partition(" ")
    if named and article.lower() in ("o", "a", "os", "as") and (article.islower() or named[0].islower()):
        # `em o` is said `no`, but for a title's.
        text = regex.sub(f"([Ee])m {regex.escape(product)}", product, text)
    return {
        "may_be_sent": _is_name(product)
        and _is_product(product)
        and _is_name(offer)
        and _is_honest(offer)
        and _is_readable(offer)
        and not _is_regulated(f"{product} {offer}"),
        "in_form": bool(form),
        "suits_the_campaign": bool(form)
        and (not opener or opener in _openers_for(product))
        and (closer not in data["fechos"]["conhecidas"] or _is_known(offer, ("com", "outras"))),
        "offer_as_it_is": bool(form)
        and (form["para"] == "todas" or _is_known(offer, ("com",) if form["para"] == "com" else ("com", "outras"))),
        "no_repetition": len(said) == len(set(said)) and strings.isdisjoint(said),
        "within_length": 0 < len(regex.findall(r"\X", text)) <= MOST_GRAPHEMES,
    }


def _is_name(text: str) -> bool:
    words = text.split(" ")
    known = all(each in MARKS or each in digits or _SHOWN.fullmatch(each) for each in text)
    sentences = any(
        word.casefold() not in TITLES
        and (end := word.rstrip("\"')")[-1:]) in {*".!?"}
        and (after[:1].isalpha() or (end != "." and after[:1].isdigit()))
        for word, after in itertools.pairwise(words)
    )
    return (
        known
        and "" not in words
        and any(map(str.isalnum, text))
        and not sentences
        and text[-1] not in ".!?,:"
        and not any(sign in text for sign in ("//", "(.)", "(,)", *_laws()["sinais"]))
        and "www" not in regex.split(r"[^\p{L}\p{N}]", text.casefold())
        and not _ADDRESS.search(text)
        and all(
            sum(map(str.isdigit, each)) < DIGITS_OF_A_TELEPHONE for each in _NUMBERS.findall(_DATE.sub(" a ", text))
        )
    )


def _is_product(product: str) -> bool:
    """Return whether a product has no second offer, no price, no share but of what it is made of, and no sentence."""
    shares = [
        product[: end.start()].endswith("100") or _is_made(product[end.end() :]) for end in _PERCENT.finditer(product)
    ]
    return ": " not in product and "r$" not in product.casefold() and all(shares) and not _has(product, "produto")


def _is_made(rest: str) -> bool:
    said = rest.casefold()
    return any(said.startswith((f" {each}", f" de {each}")) for each in _laws()["materiais"])


def _is_honest(offer: str) -> bool:
    """Return whether an offer gives some, not all, and leaves nobody out."""
    text = offer.casefold()
    shares = [
        each.rstrip(".,").replace(".", "").replace(",", ".") for each in regex.findall(r"[0-9][0-9.,]*(?= ?%)", text)
    ]
    known = [Decimal(each) for each in shares if each.count(".") < 2]
    paid = [int(some) > int(few) > 0 for some, few in regex.findall(r"leve ([0-9]+) e pague ([0-9]+)", text)]
    is_none = 0 in known and ("desconto" in text or "off" in text)
    return all(each <= HIGHEST_PERCENTAGE for each in known) and all(paid) and not is_none and not _has(offer, "oferta")


def _has(text: str, part: str) -> bool:
    plain = regex.sub(r"\p{M}", "", unicodedata.normalize("NFKD", text.casefold())).replace("-", " ")
    return any(_find(stem.split(), _LETTERS.findall(plain)) for stem in _laws()[part]["radicais"])


def _is_regulated(text: str) -> bool:
    """Return whether the words of a product of the list follow each other, at most one short word between two."""
    plain = regex.sub(r"\p{M}", "", unicodedata.normalize("NFKD", text.casefold()))
    words = _LETTERS.findall(plain.translate(str.maketrans(_laws()["iguais"])).replace("-", " "))
    for stem in _laws()["exceto"]:
        while found := _find(stem.split(), words):
            words[found] = [""]
    stems = [stem for law in _laws()["leis"] for stem in law["radicais"]]
    return any(_find(stem.split(), words) for stem in (*stems, *_offences()))


@cache
def _offences() -> Sequence[str]:
    texts = [(_ROOT / file).read_text(encoding="utf-8") for file in DATA_FILES[5:]]
    lines = [line for text in texts for line in text.splitlines() if line and not line.startswith("#")]
    plain = [
        regex.sub(r"\p{M}", "", unicodedata.normalize("NFKD", line.casefold())).replace("-", " ").split()
        for line in lines
    ]
    return [" ".join(f"{word}." for word in each) for each in plain if len(each) < SHORTEST_WORD]


def _find(stems: Sequence[str], words: Sequence[str]) -> slice | None:
    """Return where words that begin so stand, with one short word at most between two; a full stop ends a word."""
    for start in range(len(words)):
        end = start
        for place, stem in enumerate(stems):
            if place and not _begins(stem, words, end) and 0 < len("".join(words[end : end + 1])) <= SHORT_WORD:
                end += 1
            if not _begins(stem, words, end):
                break
            end += 1
        else:
            return slice(start, end)
    return None


def _begins(stem: str, words: Sequence[str], place: int) -> bool:
    return place < len(words) and f"{words[place]}.".startswith(stem)


@cache
def _laws() -> Mapping[str, Any]:
    return tomllib.loads((_ROOT / DATA_FILES[3]).read_text(encoding="utf-8"))


def _split(text: str) -> tuple[str, str, str]:
    """Return opener, core and closer; all empty where the text is not made of them."""
    data = _data()
    openers = ["", *(f"{each} " for group in data["grupos"].values() for each in group["aberturas"])]
    closers = ["", *(f" {each}" for each in (*data["fechos"]["todas"], *data["fechos"]["conhecidas"]))]
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


def _is_known(offer: str, kinds: Sequence[str]) -> bool:
    text = offer.casefold()
    if not _is_readable(text):
        return False
    amounts = [Decimal(each.replace(".", "").replace(",", ".")) for each in regex.findall(r"\d+(?:[.,]\d+)*", text)]
    return any(
        _fills(text, form.split("#")) and form.count("#") == len(amounts) and _can_be(form, amounts)
        for kind in kinds
        for form in _data()["ofertas"][kind]
    )


def _is_readable(offer: str) -> bool:
    """Return whether each number of an offer is one: thousands in threes, and one comma at most."""
    for each in regex.findall(r"\d[\d.,]*(?<=\d)", offer):
        whole, *decimals = each.split(",")
        first, *thousands = whole.split(".")
        if not whole or len(decimals) > 1 or any("." in part for part in decimals):
            return False
        if thousands and (len(first) > 3 or any(len(part) != 3 for part in thousands)):
            return False
    return True


def _can_be(form: str, amounts: Sequence[Decimal]) -> bool:
    """Return whether a percentage is one of a discount, and nobody pays for as many as are taken, or more."""
    if "#%" in form:
        return 1 <= amounts[0] <= HIGHEST_PERCENTAGE
    return all(amounts) and all(paid < taken for taken, paid in itertools.pairwise(amounts))


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


@cache
def _words(text: str) -> frozenset[str]:
    for field in _FIELDS:
        text = text.replace(field, " ")
    found = _LETTERS.findall(text.casefold())
    return frozenset(word for word in found if len(word) >= SHORTEST_WORD and word not in _data()["repetem"])


@cache
def _data() -> Mapping[str, Any]:
    data = tomllib.loads((_ROOT / DATA_FILES[0]).read_text(encoding="utf-8"))
    own = os.environ.get(DATA_FILES[4].removeprefix("$"))
    for each in tomllib.loads(Path(own).read_text(encoding="utf-8"))["aberturas"] if own else ():
        data["grupos"][each["grupo"]]["aberturas"].append(each["texto"])
    return data
