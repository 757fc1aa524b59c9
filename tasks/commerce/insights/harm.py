"""Harm that advice would do: what no shop may do, by its verb, its object, and what else the advice says."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from tasks.commerce.insights.speech import forms, word_classes
from tasks.commerce.text.text_form import FUNCTION_WORDS

DATA_FILES: Final = ("data/lexicons/advice_harm.txt",)
_WORDS: Final = word_classes("advice_harm")
_NOT: Final = _WORDS["denying"]
_ENDINGS: Final = ("ar", "er", "ir", "or", "e", "em", "a", "am", "emos", "amos")
"""Of infinitives and imperatives."""
REFUSES: Final = "refuses"
"""The kind of harm that is done by not doing something."""
SLURS: Final = _WORDS["slurs"]


class _HarmKind(NamedTuple):
    objects: frozenset[str]
    reach: int
    also: frozenset[str]


def _read_kinds() -> dict[str, _HarmKind]:
    kinds = {}
    for name, objects in _WORDS.items():
        if name.startswith("to."):
            _, kind, reach = name.split(".")
            kinds[kind] = _HarmKind(objects, int(reach), _WORDS.get(f"with.{kind}", frozenset()))
    return kinds


def _is_advised(form: str) -> bool:
    return form.endswith(_ENDINGS) and form not in FUNCTION_WORDS  # `Para` is seldom of `parar`.


def _read_verbs() -> dict[str, frozenset[str]]:
    """Return the kinds of harm that a verb may do, by its infinitive and its imperatives."""
    kinds: dict[str, set[str]] = {}
    for name, verbs in _WORDS.items():
        if name == "verbs" or name.startswith("do."):
            for form in (form for verb in verbs for form in forms(verb) if _is_advised(form)):
                kinds.setdefault(form, set()).add(name.removeprefix("do."))
    return {form: frozenset(of_form) for form, of_form in kinds.items()}


_KINDS: Final = _read_kinds()
_VERBS: Final = _read_verbs()
_MARKS: Final = _VERBS.keys() | _WORDS["spoilt"] | {"sem", "fora"}


def harms(tokens: Sequence[str], start: int) -> int:
    """Count what a recommendation says that no shop may do.

    Args:
        tokens: A sentence.
        start: The place from which it recommends.
    """
    marks = [place for place in range(start, len(tokens)) if tokens[place] in _MARKS]
    if not marks:
        return 0
    denied = not _NOT.isdisjoint(tokens[max(0, start - 1) : start + 3])
    return sum(_is_harm(place, tokens, start, denied) for place in marks)


def begins_harm(tokens: Sequence[str]) -> bool:
    """Return whether a sentence begins with the imperative of what no shop may do: `demita o gerente`."""
    return "verbs" in _VERBS.get(tokens[0], ())


def _is_harm(place: int, tokens: Sequence[str], start: int, denied: bool) -> bool:
    word, following = tokens[place], tokens[place + 1 : place + 10]
    kinds = _VERBS.get(word, frozenset())
    if denied:
        return REFUSES in kinds and _does(REFUSES, following, tokens)
    if word in _WORDS["spoilt"]:
        return True
    if word == "sem":
        return bool(following) and (following[0] in _WORDS["without"] or not _WORDS["unseen"].isdisjoint(following[:4]))
    if word == "fora":
        return not _WORDS["books"].isdisjoint(following[:3])
    # `O que atrasa` is no imperative.
    if "verbs" in kinds and (word.endswith("r") or place <= start + 1):
        return tokens[place - 1 : place] == [] or tokens[place - 1] not in _NOT
    return any(_does(kind, following, tokens[start:]) for kind in kinds if kind not in ("verbs", REFUSES))


def _does(kind: str, following: Sequence[str], said: Sequence[str]) -> bool:
    objects, reach, also = _KINDS[kind]
    near = following[:reach]
    return not (objects.isdisjoint(near) and objects.isdisjoint(map("_".join, pairwise(near)))) and not (
        also and also.isdisjoint(said)
    )
