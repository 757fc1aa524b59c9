"""Advice of a sentence: where it begins, its verbs and their objects, and whether it does good.

A recommendation is a frame (`recomendo`, `vale`, `é preciso`) or an infinitive or imperative at the beginning of a
clause. Credit is for verbs and objects of closed lists, by what the verbs do to the objects. What raises or keeps harm,
cuts gain or does to an object what no shop may is harmful; a verb of no list earns nothing and costs little.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tasks.commerce.insights.harm import harms
from tasks.commerce.insights.sentences import PARTS, AnalysisSentence
from tasks.commerce.insights.speech import forms, is_known, verbs_of, word_classes
from tasks.commerce.insights.table import Table
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.remembered import Remembered
from tasks.commerce.text.text_form import FUNCTION_WORDS, fold

DATA_FILES: Final = ("data/lexicons/advice_words.txt",)

LOOKED_AGAIN: Final = 0.6
"""Credit of each further verb that only looks: `acompanhar`, `conferir`."""
OBJECT_REACH: Final = 6
"""Words behind a verb among which its object is looked for."""

_VERBS: Final = {fold(verb): kind for kind, verbs in verbs_of("advice_verbs") for verb in verbs}
_OBJECTS: Final = {kind: frozenset(map(fold, entries)) for kind, entries in verbs_of("advice_objects")}
_HARM: Final = _OBJECTS["harm"]
_GAIN: Final = _OBJECTS["gain"]


def _imperatives() -> dict[str, str]:
    """Return the imperatives of the verbs by their form, with the infinitive."""
    found: dict[str, str] = {}
    for _, verbs in verbs_of("advice_verbs"):
        for verb in verbs:
            endings = ("e", "em", "emos") if verb.endswith("ar") else ("a", "am", "amos")
            plain = fold(verb)
            for form in forms(verb):
                if form.endswith(endings) and form != plain and form not in found:
                    found[form] = plain
    return found


_IMPERATIVES: Final = _imperatives()
_WORDS: Final = word_classes("advice_words")
_FRAMES: Final = _WORDS["frames"]
_NOUN_FRAMES: Final = _WORDS["noun_frames"]
"""Nouns that recommend what follows a colon or `é`."""
_NEEDS: Final = _WORDS["needs"]
_WILL: Final = _WORDS["will"]
_NO_VERBS: Final = _WORDS["no_verbs"]
_NOUNS: Final = frozenset(
    fold(word) for line in read_lexicon("analyst_words") for word in line.replace("-", " ").split()
)
_SPARED: Final = _WORDS["spared"]
_UNDER_CONTROL: Final = _WORDS["under_control"]
_STOPS: Final = _WORDS["stops"]
_STARTING: Final = _WORDS["starting"]
"""What recommends at the beginning of a clause without a figure: `ficar de olho`, `reunião com a transportadora`."""
_MAY_BE_LEFT: Final = _WORDS["may_be_left"]
_PUTTING_OFF: Final = frozenset({"sem", "agora", "ainda", "antes", "ate", "enquanto"})
"""Words behind what is not to be done that say how or when it is."""
_PAID_BY_CUSTOMERS: Final = _WORDS["paid_by_customers"]


_ACTIONS: Final = _WORDS["actions"]
"""Nouns that a recommendation may have in place of a verb."""
_AGREEMENTS: Final = frozenset(["parceria", "parcerias", "acordo", "acordos", "contrato", "contratos"])
"""What a shop may close, and stay open."""
_MENDING: Final = frozenset({"cut", "mend"})
_MENDED: Final = frozenset({"atrasos", "nota", "frete"})
"""Columns that advice mends, and not only pushes."""


@dataclass(slots=True)
class Advice:
    """Recommendations of a sentence or a text."""

    verbs: dict[str, float] = field(default_factory=dict)
    """The credit of each verb that recommends something sensible."""
    harmful: int = 0
    """Recommendations that do harm, or stop what the shop lives by."""
    unknown: list[str] = field(default_factory=list)
    """Verbs that no analysis recommends."""
    senseless: int = 0
    """Recommendations to do to a thing what is done to people, or to a row or a column what nobody does to it."""
    unfit: int = 0
    """Recommendations to mend what the table shows to be best."""

    def add(self, other: "Advice") -> None:
        """Add the recommendations of a sentence."""
        for verb, credit in other.verbs.items():
            self.verbs[verb] = max(self.verbs.get(verb, 0.0), credit)
        self.harmful += other.harmful
        self.unknown += other.unknown
        self.senseless += other.senseless
        self.unfit += other.unfit

    def credit(self) -> float:
        """Return the credit of all verbs; of those that only look, the first counts in full."""
        earned = list(self.verbs.values())
        looking = [place for place, verb in enumerate(self.verbs) if _VERBS.get(verb) == "study"]
        for place in looking[1:]:
            earned[place] *= LOOKED_AGAIN
        return sum(earned)


def advice_from(sentence: AnalysisSentence) -> int:
    """Return the place from which a sentence recommends; its length if nowhere."""
    tokens = sentence.tokens
    for place in [place for place, word in enumerate(tokens) if _MAY_BEGIN[word]]:
        word = tokens[place]
        before = tokens[place - 1] if place else ""
        begins = not place or before in PARTS
        following = tokens[place + 1 : place + 3]
        if _is_frame(word, before, following) or (begins and _commands(word, following)):
            return place
        if word in _STARTING and begins and not sentence.numbers:
            return place
        if word in _VERBS:
            if not _foretells(place, sentence) and tokens[max(0, place - 2) : place] != ["apesar", "de"]:
                return _phrase_start(place, sentence)
        elif _looks_infinitive(word) and (begins or before in _LEADING or not is_known(word)):
            return _phrase_start(place, sentence)
    return len(tokens)


def _is_frame(word: str, before: str, following: Sequence[str]) -> bool:
    """Return whether a word recommends what follows: `recomendo`, `é preciso`, `a sugestão é`, `que tal`."""
    if word in _FRAMES or (word in _NEEDS and before in ("e", "sera", "seria")):
        return True
    after = "".join(following[:1])
    return (word in _NOUN_FRAMES and after in (":", "e", "sao")) or (word == "que" and after == "tal")


def _commands(word: str, following: Sequence[str]) -> bool:
    """Return whether a word at the beginning of a clause is an imperative, or forbids, or calls for an end."""
    after = "".join(following[:1])
    if word == "nao":
        return after in _VERBS or _looks_infinitive(after)
    return word in _IMPERATIVES or (word in _STOPS and "de" in following)


def _may_begin(word: str) -> bool:
    """Return whether advice may begin at a word."""
    return (
        word in _FRAMES
        or word in _NOUN_FRAMES
        or word in _NEEDS
        or word in ("que", "nao")
        or word in _IMPERATIVES
        or word in _STOPS
        or word in _STARTING
        or word in _VERBS
        or _looks_infinitive(word)
    )


_MAY_BEGIN: Final = Remembered(_may_begin)


def _phrase_start(place: int, sentence: AnalysisSentence) -> int:
    """Return where the words begin that lead to a recommended verb: `o melhor é testar`."""
    named = {there for there, _ in (*sentence.rows, *sentence.columns)}
    for _ in range(3):
        if (
            not place
            or sentence.tokens[place - 1] in PARTS
            or place - 1 in named
            or sentence.tokens[place - 1][0].isdigit()
        ):
            break
        place -= 1
    return place


def _foretells(place: int, sentence: AnalysisSentence) -> bool:
    """Return whether a verb says what figures will do: `a receita vai crescer`."""
    before = sentence.tokens[max(0, place - 2) : place]
    if _WILL.isdisjoint(before):
        return False
    modal = max(there for there in range(max(0, place - 2), place) if sentence.tokens[there] in _WILL)
    return any(there < modal for there, _ in (*sentence.columns, *sentence.rows)) and not any(
        word in _ACTORS for word in sentence.tokens[max(0, modal - 3) : modal]
    )


_LEADING: Final = _WORDS["leading"]
_ACTORS: Final = _WORDS["actors"]


def _looks_infinitive(word: str) -> bool:
    return len(word) > 4 and word.endswith(("ar", "er", "ir")) and word not in _NO_VERBS and word not in _NOUNS


def is_verb_of_advice(word: str) -> bool:
    """Return whether a word recommends, or is what is recommended to do."""
    return word in _VERBS or word in _IMPERATIVES or word in _FRAMES or word in _NEEDS or word in _NOUN_FRAMES


def read_advice(sentence: AnalysisSentence, table: Table, start: int, advice: Advice) -> None:
    """Judge what a sentence recommends.

    Args:
        sentence: The sentence.
        table: The table.
        start: The place from which it recommends.
        advice: Receives what is found.
    """
    tokens = sentence.tokens
    found = False
    advice.harmful += harms(tokens, start)
    for place in [place for place in range(start, len(tokens)) if _MAY_BEGIN[tokens[place]]]:
        word = tokens[place]
        before = tokens[place - 1] if place else ""
        if word in _STOPS and place + 1 < len(tokens) and tokens[place + 1] == "de" and before != "nao":
            advice.harmful += not harms(tokens, place + 2)
            found = True
            continue
        if word in _VERBS:
            verb = word
        elif word in _IMPERATIVES and (place == start or before in PARTS or before in ("e", "que")):
            verb = _IMPERATIVES[word]
        elif _looks_infinitive(word) and (place == start or before in PARTS or before in _FRAMES or before in _NEEDS):
            found = True
            if _first_object(place, tokens) in table.names_of_words:
                advice.senseless += 1
            _judge_unknown(word, place, tokens, advice)
            continue
        else:
            continue
        _judge(verb, place, start, sentence, table, advice)
        found = True
    if not found and "nao" in tokens[start : start + 2] and "deixar" in tokens[start : start + 3]:
        advice.verbs["deixar"] = 1.0
    if not found and (tokens[start] in _FRAMES or tokens[start] in _NOUN_FRAMES):
        credit_noun(tokens[start + 1 : start + 6], advice)
    elif tokens[start + 1 : start + 2] == [":"]:
        credit_noun(tokens[start + 2 : start + 7], advice)


def credit_noun(tokens: Sequence[str], advice: Advice) -> None:
    """Credit what is recommended by a noun: `recomendo uma campanha local`, `um cupom pode ajudar`."""
    noun = next((word for word in tokens if word in _ACTIONS), "")
    if noun:
        advice.verbs.setdefault(noun, 1.0)


def _judge_unknown(verb: str, place: int, tokens: Sequence[str], advice: Advice) -> None:
    """Count a verb of no list, but credit `fechar parcerias` and `não deixar faltar`."""
    if verb == "fechar" and not _AGREEMENTS.isdisjoint(tokens[place + 1 : place + 5]):
        advice.verbs[verb] = 1.0
    elif tokens[place - 1 : place] == ["deixar"] and "nao" in tokens[max(0, place - 3) : place]:
        advice.verbs["deixar"] = 1.0
    else:
        advice.unknown.append(verb)


def _first_object(place: int, tokens: Sequence[str]) -> str:
    following = tokens[place + 1 : place + 3]
    return next((word for word in following if word not in _DETERMINERS), "") if following else ""


_DETERMINERS: Final = frozenset({"o", "a", "os", "as", "um", "uma", "seu", "sua", "esse", "essa", "este", "esta"})
_PEOPLE_VERBS: Final = _WORDS["people_verbs"]
_THINGS: Final = _WORDS["things"]
_GROUPS: Final = frozenset({"cartao", "boleto", "cupom", "debito", "credito"})


def _objects(place: int, tokens: Sequence[str]) -> list[str]:
    found = []
    for word in tokens[place + 1 : place + 1 + OBJECT_REACH]:
        if word in _VERBS or (word in PARTS and word != ",") or word in ("para", "sem", "com", "por"):
            break
        found.append(word)
    return found


def _judge(verb: str, place: int, head: int, sentence: AnalysisSentence, table: Table, advice: Advice) -> None:
    tokens = sentence.tokens
    kind = _VERBS[verb]
    objects = _objects(place, tokens)
    first = next((word for word in objects if word in _HARM or word in _GAIN), "")
    if first in _GAIN and not _OBJECTS["spoiling"].isdisjoint(objects[objects.index(first) + 1 :][:1]):
        first = ""  # `Evitar avaliações ruins` cuts no gain.
    negated = "nao" in tokens[max(0, place - 2) : place]
    harmful = (
        (kind == "raise" and first in _HARM)
        or (kind == "cut" and first in _GAIN)
        or (kind == "keep" and first in _HARM - _SPARED and _UNDER_CONTROL.isdisjoint(tokens[place:]))
        or (
            verb == "cobrar"
            and next((word for word in objects if word not in FUNCTION_WORDS), "") in _PAID_BY_CUSTOMERS
        )
    )
    if negated and harmful:
        harmful = False
    elif (
        place
        and tokens[place - 1] == "nao"
        and place - 1 <= head + 1
        and kind in ("keep", "mend", "push", "study")
        and verb not in _MAY_BE_LEFT
        and _PUTTING_OFF.isdisjoint(tokens[place : place + 4])
    ):
        harmful = True
    if harmful:
        advice.harmful += 1
        return
    if verb in _PEOPLE_VERBS and (_first_object(place, tokens) in _THINGS or _first_object(place, tokens) in _GROUPS):
        advice.senseless += 1
        return
    first = _first_object(place, tokens)
    if first.isalpha() and not (is_known(first) or first in table.row_words or first in table.words):
        # What is done to something that no shop's analysis speaks of is no action: `treinar o papagaio`.
        advice.unknown.append(first)
        return
    credit = 1.0
    if kind in _MENDING and _is_best(objects, sentence, table):
        advice.unfit += 1
        credit = 0.4
    advice.verbs[verb] = max(advice.verbs.get(verb, 0.0), credit)


def _is_best(objects: Sequence[str], sentence: AnalysisSentence, table: Table) -> bool:
    """Return whether a row is advised to mend a column in which it is the best."""
    rows: set[int | None] = {row for _, row in sentence.rows} or (
        {sentence.carried_row} if sentence.from_line else set()
    )
    if len(rows) != 1 or len(table.names) < 3:
        return False
    row = next(iter(rows))
    for word in objects[:3]:
        column = table.column_words.get(word)
        if row is not None and column is not None and table.columns[column].name in _MENDED:
            return (
                table.rank(row, column, table.columns[column].good > 0) == 0
                and table.columns[column].highest > table.columns[column].lowest
            )
    return False
