"""Ground truth of extraction, from the reference and the review, by code that no reward shares.

The answer is what `json.loads` makes of the whole completion, or of one code fence around it: a word makes it none.
Unseen: fields that the reference does not know, which words complain where nobody knows it, and idioms cut short.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final

from schemas.documents import Rollout
from schemas.references import ExtractionFields
from tasks.commerce.truth_text import fold, number_of, read_data, read_object, share_of, words

COMPLAINT: Final = "main_complaint"
MOST_WORDS: Final = 12
SHARED: Final = 2 / 3
MOST_LISTED: Final = 3  # Words of a clause that may be one of a list.
LEFT_HANGING: Final = frozenset(("nao", "naum", "n", "nem", "sem"))
DATA_FILES: Final = ("data/evidence/complaint.toml",)
_DATA: Final = read_data(DATA_FILES[0])
_NO, _OF, _AND, _NONE = ("|".join(_DATA[name]) for name in ("negacoes", "antes", "ligacoes", "depois"))
_WORDS: Final = rf"(?: (?!(?:{_AND})\b)\w+)"
_DENIED: Final = re.compile(rf"\b(?:{_NO})(?: e)?{_WORDS}{{0,11}}$|\b(?:{_OF})(?: e)?{_WORDS}{{0,3}}$")
"""Text up to words that a negation denies, or that another word governs."""
_LISTED: Final = {
    joined: re.compile(rf"\b(?:{no})(?: e)?{_WORDS}{{0,11}}(?: {joined}{_WORDS}{{0,3}})+$")
    for joined, no in ((",", _NO), ("[,e]", "sem|nem|nenhuma?|zero"))
}
"""The same, of words in a list: `e` adds a thing to things alone."""
_ANSWERED: Final = re.compile(rf"^(?:[?:,] (?:\w+ )?(?:{_NO}) [.!?;:,]|[?:] (?:{_NO}|{_NONE})\b)")
_DENIED_BEHIND: Final = re.compile(rf"^(?:(?!(?:{_AND}|sem|nem)\b)\w+ ){{0,3}}(?!sem|nem)(?:{_NO}|{_NONE})\b")
_NUMBER: Final = re.compile(r"[0-9](?:(?:[ ()./_-]|ramal)*[0-9]){7}")
_HARMFUL: Final = re.compile("|".join((*_DATA["pessoais"], *_DATA["perigosas"])))
_LOOK_ALIKE: Final = str.maketrans(*_DATA["parecidas"])
_HARMLESS: Final = re.compile(r"\b[0-9]{1,2}([-./])[0-9]{1,2}\1[0-9]{4}\b|(pedido|protocolo|nota|rastreio):? [0-9.-]+")
_QUOTED: Final = re.compile(r"(?ms)^Avaliação: *(.*)")


def metric(rollouts: Sequence[Rollout], _: object) -> dict[str, float]:
    """Return what is right of the fields that the reference knows.

    - `field_f1`: micro-F1 over (field, value) of the fields but the complaint, each of its JSON type, a risk by its
      tenth. A field that the reference does not know is neither right nor wrong. The constant of praise earns much.
    - `complaint`: share of the known complaints that are named: a run of at most twelve words of the review as it is
      typed, which leaves no negation out beside it, and shares two thirds of its words and of those that complain; or
      nothing where nothing is complained of.
    - `exact`: share of the answers in which every known field is right, the complaint too, and no field is there that
      nobody asked for. The strictest.
    """
    right = given = known = 0
    complaints: list[bool] = []
    exact: list[bool] = []
    for rollout in rollouts:
        reference = rollout.reference or {}
        wanted = {name: value for name, value in (reference.get("fields") or {}).items() if value is not None}
        if not wanted:
            continue
        found = read_object(rollout.completion) or {}
        valued = wanted.keys() - {COMPLAINT}
        agree = [_is_same(name, found.get(name), wanted[name]) for name in valued]
        known += len(valued)
        given += sum(found.get(name) is not None for name in valued)
        right += sum(agree)
        if COMPLAINT in wanted:
            agree.append(is_complaint(found.get(COMPLAINT), reference, rollout.prompt))
            complaints.append(agree[-1])
        exact.append(all(agree) and found.keys() <= ExtractionFields.model_fields.keys())
    rates = {"complaint": complaints, "exact": exact}
    f1 = {"field_f1": 2 * right / (given + known)} if known else {}
    return f1 | {name: sum(each) / len(each) for name, each in rates.items() if each}


def _is_same(name: str, found: object, wanted: object) -> bool:
    if name == "churn_risk":
        risk, true = share_of(found), number_of(wanted)
        return risk is not None and true is not None and round(10 * risk) == round(10 * true)
    return type(found) is type(wanted) and found == wanted


def is_complaint(found: object, reference: Mapping[str, Any], prompt: str) -> bool:
    """Return whether a complaint is copied from the review, and says what is known of it."""
    if not isinstance(found, str):
        return False
    wanted = (reference.get("fields") or {}).get(COMPLAINT)
    if not found or wanted == "":
        return not found and not wanted
    review = _QUOTED.search(prompt)
    read = review[1].lower().translate(_LOOK_ALIKE) if review else ""
    heard = _typed("".join(" " if _is_unseen(each) else each for each in read))
    said, told = (_runs(_typed(text), heard) for text in (found, reference.get("complaint_words") or ""))
    if not said or len(found.split()) > MOST_WORDS or any(_is_unseen(each) and each not in "\n\r\t" for each in found):
        return False
    if _NUMBER.search(_HARMLESS.sub("", found.lower())) or _HARMFUL.search(fold(found)):
        return False
    if _is_praise_or_sensitive(words(fold(found))):
        return False
    return not told or any(
        len(set(one) & set(other)) >= SHARED * max(len(one), len(other)) for one in said for other in told
    )


def _is_praise_or_sensitive(said: Sequence[str]) -> bool:
    praise = {*said} <= {*_DATA["elogios"], *_DATA["neutras"]} and not {*said}.isdisjoint(_DATA["elogios"])
    spaced = f" {' '.join(said)} "
    return praise or any(" " + stem.replace(".", " ") in spaced for stem in _DATA["sensiveis"])


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character)[0] in "CZ" and character != " "


def _typed(text: str) -> str:
    return " ".join(text.lower().split())


def _runs(text: str, heard: str) -> list[range]:
    """Return the places, counted in words, where a text stands in another and leaves nothing out that denies it."""
    core = re.search(r"\w(?:.*\w)?", text)
    if core is None or text not in heard:
        return []
    found: list[range] = []
    for match in re.finditer(rf"(?<!\w)(?={re.escape(core[0])}(?!\w))", heard):
        before, own, behind = (
            re.findall(r"\w+|[.!?;:,]", fold(each))
            for each in (heard[: match.end()], core[0], heard[match.end() + len(core[0]) :])
        )
        if not _is_denied(before, own, behind):
            start = len(words(" ".join(before)))
            found.append(range(start, start + len(words(" ".join(own)))))
    return found


def _is_denied(before: Sequence[str], own: Sequence[str], behind: Sequence[str]) -> bool:
    """Return whether a negation stands beside words, or something that governs them, and nothing takes the text on."""
    left, right = " ".join(("", *before, *own[: own[0] == "e"])), f"{' '.join(behind)} ."
    answer = re.sub(rf"^(?:(?!(?:{_AND})\b)\w+ )*", "", right)
    is_last = answer == right
    is_denied_behind = _DENIED_BEHIND.match(right) and set(own).isdisjoint(_DATA["negacoes"])
    if is_denied_behind or _ANSWERED.match(answer) or (own[-1] in LEFT_HANGING and not is_last):
        return True
    if own[0] in _DATA["ligacoes"] and own[0] != "e":
        return False
    clause = [*re.sub(rf"^.*?((?:{_WORDS})*)$", r"\1", left).split(), *own, *right.removesuffix(answer).split()]
    is_part = len(clause) <= MOST_LISTED and set(own).isdisjoint(_DATA["negacoes"])
    return bool(_DENIED.search(left)) or (is_part and any(pattern.search(left) for pattern in _LISTED.values()))
