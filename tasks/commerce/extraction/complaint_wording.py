"""Wording of a complaint beside its topic: the review's words and few others, none of them a cause, an end, a denial.

A complaint names what the shopper complains of. Whatever else it says has to be the review's: a number, a cause, that
it is settled, that the shopper is to blame. Words are a closed list (`data/lexicons/complaint_matter.txt`).
"""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from typing import Final

from tasks.commerce.extraction.complaint_signs import MAX_READ, NEGATIONS, spoken_words
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.manner import manner
from tasks.commerce.text.text_form import KEPT_PROMPTS, fold, folded_words, ramp
from tasks.commerce.text.vocabulary import CLOSED_CLASS, root, roots

DATA_FILES: Final = (
    "data/lexicons/complaint_matter.txt",
    "data/lexicons/complaint_synonyms.txt",
    "data/lexicons/complaints.txt",
)
SAME: Final = 6
"""First letters that words of one thing share: `alteração` and `alterado`."""
LONG_WORD: Final = 5
"""Fewest letters of a word that a review may have misspelt."""
LOST, LATE, INCOMPLETE, OWN_ERROR = "produto não entregue", "atraso na entrega", "pedido incompleto", "compra errada"
UNANSWERED = "vendedor não responde"
SHORT, TOO_LONG = 100, 200
"""Maximum characters of a short complaint, and the length from which it counts as a text."""
KEPT: Final = 4_096
FOREIGN_WORDS: Final = 2
"""Words that neither the review nor the lists have from which on a complaint is worth nothing."""
ALIKE: Final = 0.2
"""Share of such a word that a single one counts among the review's own."""
SAID_BESIDE: Final = 0.4
"""Grade that a number, a repetition or a copy leaves."""
REPEATED: Final = 0.4
"""Share of the different content words that are said again, from which on a complaint is a copy."""
ANY, BESIDE, OPEN = "any", "beside", "open"
"""Words of any part of a complaint, of a part that names its topic, and before what is not there yet."""
_PART_END: Final = re.compile(r" ?[.!?;:,]+ ?| (?:e|mas|porem|pois|porque|embora|apesar) ")
_AFFIRMED, _DENIED_WORD, _EITHER = frozenset((False,)), frozenset((True,)), frozenset((False, True))
_BINDING: Final = CLOSED_CLASS - {"quer"}
"""Words without a meaning of their own; `quer` has one where it is no conjunction."""
_DID: Final = roots(("fazer", "realizar", "ocorrer", "acontecer", "dar", "saber"))
"""Verbs without a meaning of their own: `a troca não foi feita`."""
_CAUSES: Final = frozenset(("por", "pelo", "pela", "devido", "causa", "motivo", "culpa", "ja"))
_CAME: Final = roots(("receber", "chegar", "vir", "entregar", "mandar", "enviar"))
_DONE: Final = ("ou", "eu", "iu", "ram")
_NOT: Final = r"(?:nao|nem|nunca|jamais|sem|nenhum\w?|nada|ninguem)"
_BAD: Final = (
    r"(?:atras|demor|lent[oa]|lentid|defeit|quebr|danific|estrag|avari|trinc|rasg|rachad|queim|manch|errad|trocad|"
    r"incomplet|falt|falsific|pirat|engan|ruim|ruins|pessim|fragil|frac[oa]|vagabund|car[oa]s?\b|cancel|esgotad|"
    r"extravi|sumi|ignor|problem|queix|reclam|diferent|baix[oa]|dificuldad|alt[oa]s?\b(?! qualidade))"
)
_DENIED: Final = re.compile(
    # `Sem atraso`, `não houve nenhum defeito`.
    rf"\b{_NOT}(?: e)?(?: (?:houve|ha|teve|tem|foi|era|esta|estava|existe|ocorreu|aconteceu|apresent\w+|veio com"
    rf"|chegou com|qualquer|nenhum\w?|o|a|um|uma|de|mais|tao|muito|produto|pedido|entrega|item)){{0,5}} {_BAD}"
    # `Não foi produto não entregue`.
    rf"|\b{_NOT}(?: e)? (?:(?:foi|houve|ha|teve|era|o|um|ficou|esta|verdade|que|caso|de|pedido|produto|item|entrega"
    r"|compra) ){0,5}(?:nao|nunca) (?:foi |foram |me |lhe )?(?:entreg|receb|cheg|respond|funcion)"
    # `Atraso nenhum`, `defeito inexistente`; `atraso na entrega não`.
    rf"|\b{_BAD}\w*(?: (?:na|da|de|do) \w+)? (?:nenhum|algum|zero|inexistente|nao"
    r"|(?:nao|nunca) (?:aconteceu|ocorreu|houve|existiu|procede))\b(?! \w)"
    r"|\bnao (?=[.!?;:,]|$)"
    # `Isso não aconteceu`, `não é o caso`, `longe de ser`.
    r"|\b(?:isso nao \w+|nao (?:e|foi|era|se trata|trata) (?:o |a |bem |de |d)?(?:verdade|caso|isso|assim|\w+ mesmo)"
    r"|(?<!entrega )(?:nao|nunca|jamais) (?:procede|aconteceu|ocorreu|houve|existiu|existe)(?= [.!?;:,]|\s*$)"
    r"|nada disso|longe de|ao contrario|e mentira|e falso|sem (?:queixa|reclamac|motivo|razao)\w*|sequer houve)\b"
    r"|^ nao (?:procede|confere|e verdade|aconteceu|ocorreu)\b"
)
_MAY_DENY: Final = re.compile(
    r"nao|nem|nunca|jamais|sem |nenhum|nada|ninguem|zero|algum|inexist|longe|contrario|mentira|falso|sequer"
)
"""Without any of these nothing is denied."""
_ARRIVED: Final = re.compile(
    r"\b(?:entregue|entregues|entregaram|entregou|chegou|chegaram|chegando|recebeu|recebi|receberam|recebid\w+|veio|vieram)\b"
)
_ANSWERED: Final = re.compile(r"\b(?:respond|atend|retorn)(?:eu|ou|eram|aram)\b")
ON_TIME: Final = re.compile(
    r"\b(?:no prazo|dentro d[oe] (?:\w+ )?prazo|antes d[oae] (?:\w+ )?(?:prazo|data|dia|tempo)|na data|em dia|a tempo"
    r"|pontual\w*|adiantad\w+|(?:prazo|data) (?:foi )?(?:cumprid|respeitad|certo|certa)\w*"
    r"|(?:cumpri|respeit)\w+ (?:o |a )?(?:prazo|data))\b"
)
_BLAMED: Final = re.compile(
    r"\b(?:pel[oa]s?|por|(?:culpa|causa|erro|falha) d[oae]s?) (?:propri[oa] )?"
    r"(?:client|comprador|consumidor|usuari|fregue)|cliente (?:nao|nunca) (?:respond|atend|retorn|entreg|envi|mand)"
)
_NUMBERS: Final[Mapping[str, int]] = {
    word: number
    for number, words in enumerate(
        (
            "zero", "um uma primeiro primeira", "dois duas segundo segunda", "tres", "quatro", "cinco", "seis", "sete",
            "oito", "nove", "dez", "onze", "doze", "treze", "quatorze", "quinze",
        )
    )
    for word in words.split()
}  # fmt: skip
_VAGUE: Final = frozenset(("um", "uma", "primeiro", "primeira", "segunda", "segundo"))
"""Words of a number that need not count."""


@lru_cache(maxsize=KEPT)
def complaint_wording(found: str, review: str, topics: frozenset[str]) -> float:
    """Grade what a complaint says beside its topics, in [0, 1].

    Args:
        found: The complaint.
        review: The review; empty where nobody knows it: then numbers and copies are not looked for.
        topics: Complaints that it names rightly, of whose words it may be made.
    """
    text = found[: TOO_LONG + 1]
    folded = fold(text)
    said = folded_words(folded)
    spoken = spoken_words(text)
    grade = ramp(sum(_strange(part, review, topics) for part in parts_of(spoken)), FOREIGN_WORDS, 0)
    grade *= SAID_BESIDE ** (
        _is_repeated(said, review)
        + (bool(review) and (_has_other_numbers(spoken, review, topics) or _is_pasted(said, text, review)))
    )
    if not grade or _says_the_end(spoken, review, topics) or _blames(spoken, review, topics):
        return 0.0
    return grade * manner(text, folded, said)


def parts_of(spoken: str) -> list[str]:
    """Return the parts of spoken words that say something by themselves."""
    return [part for part in _PART_END.split(spoken) if part.strip()]


def said_parts(found: str, review: str) -> list[str]:
    """Return the parts of a complaint that are made of a review's own words."""
    parts = parts_of(spoken_words(found[: TOO_LONG + 1]))
    return [part for part in parts if review and not _strange(part, review, frozenset())]


def quotes(found: str, review: str) -> bool:
    """Return whether a complaint is made of a review's own words alone."""
    return len(said_parts(found, review)) == len(parts_of(spoken_words(found[: TOO_LONG + 1])))


def _strange(part: str, review: str, topics: frozenset[str]) -> float:
    """Count the words that neither a review nor the lists have, and those that it has the other way round.

    A part that names a topic has the topic's words and those that go with any; another has to be the review's.
    """
    matter, theirs = _matter(), _words_of(review)
    said = part.split()
    own = [matter[topic] for topic in (topics | {LATE} if LOST in topics else topics) if topic in matter]
    lists = [theirs, matter[ANY]]
    about = any(stem in words for stem in map(root, said) for words in own)
    if about:
        lists += own
    owned = any(root(word) in theirs and root(word) not in matter[ANY] for word in said if word not in _BINDING)
    if about or owned:
        lists.append(matter[BESIDE])
    strange = [
        word
        for word in said
        if len(word) > 2
        and word not in _BINDING
        and word.isalpha()
        and not _is_listed(word, lists)
        # The beginning of a word that is said too is one that was cut off, and its slip of a letter no other word.
        and not _is_misspelt(word, theirs)
        and not _is_misspelt(word, frozenset(said) - {word})
        and not any(other.startswith(word) for other in said if other != word)
    ]
    if not strange:
        return _turned_round(said, review, about) if review else 0
    # Among the review's own words a single other one is more often a synonym than a claim, unless it is a cause.
    like = len(strange) == 1 and review and owned and _CAUSES.isdisjoint(said)
    return ALIKE if like else len(strange)


def _turned_round(said: Sequence[str], review: str, about: bool) -> int:
    """Count the words that a part denies and a review does not, or only the review: of a topic, what was done alone."""
    theirs, light = _denials_in(review), _CAME
    denies = any(word in NEGATIONS for word in said)
    if denies if about else not (denies or _matter()[OPEN].isdisjoint(map(root, said))):
        return 0
    checked = [word for word in said if not about or (word.endswith(_DONE) and root(word) not in light)]
    return sum(
        theirs.get(stem, _AFFIRMED).isdisjoint(how)
        for stem, how in _denials(checked).items()
        if stem in theirs or (how == _DENIED_WORD and stem not in _DID)
    )


@lru_cache(maxsize=KEPT_PROMPTS)
def _denials_in(review: str) -> Mapping[str, frozenset[bool]]:
    """Return of each root of a review, and of its synonyms, whether it is denied, affirmed or both."""
    found: dict[str, frozenset[bool]] = {}
    for part in parts_of(_heard(review)):
        for stem, how in _denials(part.split()).items():
            found[stem] = found.get(stem, frozenset()) | how
    for line in _synonyms():
        there = [found[stem] for stem in line if stem in found]
        if there:
            found |= dict.fromkeys(line - found.keys(), frozenset().union(*there))
    return found


def _denials(said: Sequence[str]) -> dict[str, frozenset[bool]]:
    """Return of each content word's root whether it is denied: the first after a `not` is, and those after may be."""
    found: dict[str, frozenset[bool]] = {}
    how = _AFFIRMED
    for word in said:
        if word in NEGATIONS or (word == "qualquer" and how is not _AFFIRMED):
            how = _DENIED_WORD
        elif word not in _BINDING and word.isalpha():
            stem = root(word)
            found[stem] = found.get(stem, frozenset()) | how
            how = how if how is _AFFIRMED else _EITHER
    return found


def _is_listed(word: str, lists: Sequence[AbstractSet[str]]) -> bool:
    stem = root(word)
    return any(stem in each or word in each for each in lists) or (len(word) > SAME and word[:SAME] in lists[0])


def is_denied(found: str, review: str = "") -> bool:
    """Return whether a complaint denies itself: `sem atraso`, `defeito nenhum`, `não foi produto não entregue`.

    What a review denies in the same words is no denial of the complaint: `sem contato`.
    """
    spoken = spoken_words(found[: TOO_LONG + 1])
    if not _MAY_DENY.search(spoken):
        return False
    denied = [match[0] for pattern in (_DENIED, _denied_names()) for match in pattern.finditer(spoken)]
    if not denied or not review:
        return bool(denied)
    theirs = [roots(part.split()) for part in parts_of(_heard(review))]
    return any(not any(roots(phrase.split()) <= part for part in theirs) for phrase in denied)


@cache
def _denied_names() -> re.Pattern[str]:
    names = "|".join(fold(line.split(": ")[0]) for line in read_lexicon("complaints"))
    return re.compile(
        rf"\b(?:sem|nenhum\w?|(?:nao|nunca|jamais) (?:houve|ha|foi|e|era|teve|tem|existe|existiu|ocorreu)) "
        rf"(?:um |uma |o |a )?(?:{names})\b"
    )


@lru_cache(maxsize=KEPT_PROMPTS)
def _heard(review: str) -> str:
    return spoken_words(review[:MAX_READ])


def _says_the_end(spoken: str, review: str, topics: frozenset[str]) -> bool:
    """Return whether it says that the trouble is over, or was none, and the review does not."""
    ends = [_ARRIVED] if LOST in topics else []
    if UNANSWERED in topics:
        ends.append(_ANSWERED)
    if LATE in topics and topics <= {LATE, LOST}:
        ends.append(ON_TIME)
    return any(_affirmed(end, spoken) and not _affirmed(end, _heard(review)) for end in ends)


def _affirmed(pattern: re.Pattern[str], spoken: str) -> bool:
    """Return whether a phrase stands without a negation, a duty or a delay in the five words before it."""
    return any(
        not _TURNED.search(
            " ".join(re.split(r"[.!?;:,]", spoken[max(found.start() - 60, 0) : found.start()])[-1].split()[-6:])
        )
        for found in pattern.finditer(spoken)
    )


_TURNED: Final = re.compile(
    rf"\b(?:{_NOT}|dev\w+|era|ja era|previst\w+|falta|faltou|aguard\w+|esper\w+|antes|so(?! que)|apenas"
    r"|somente|promet\w+|quando|nada)\b"
)


def _blames(spoken: str, review: str, topics: frozenset[str]) -> bool:
    """Return whether the shopper is the cause, unless the shopper says so."""
    if OWN_ERROR in topics:
        return False
    theirs = f" {_heard(review)} "
    return any(found[0] not in theirs for found in _BLAMED.finditer(spoken))


def _has_other_numbers(spoken: str, review: str, topics: frozenset[str]) -> bool:
    theirs = _numbers_in(review)
    known = theirs | ({one - other for one in theirs for other in theirs} if INCOMPLETE in topics else frozenset())
    words = spoken.split()
    mine = {number for word in words if word not in _VAGUE and (number := _number(word)) is not None}
    return not mine <= known


@lru_cache(maxsize=KEPT_PROMPTS)
def _numbers_in(review: str) -> frozenset[int]:
    words = _heard(review).split()
    return frozenset(number for word in words if (number := _number(word)) is not None)


def _number(word: str) -> int | None:
    return int(word) if word.isdecimal() and word.isascii() and len(word) < 19 else _NUMBERS.get(word)


def _is_repeated(said: list[str], review: str) -> bool:
    content = [word for word in said if word not in _BINDING and word.isalpha()]
    different = set(content)
    again = sum(content.count(word) > 1 for word in different)
    heard = " ".join(folded_words(fold(review[:MAX_READ])))
    return again > 0 and again >= REPEATED * len(different) and " ".join(said) not in heard


def _is_pasted(said: list[str], text: str, review: str) -> bool:
    return len(text) > SHORT and " ".join(said) in " ".join(folded_words(fold(review[:MAX_READ])))


@lru_cache(maxsize=KEPT_PROMPTS)
def _words_of(review: str) -> frozenset[str]:
    """Return a review's words, their roots, and those of their synonyms."""
    theirs = frozenset(folded_words(fold(review[:MAX_READ])))
    theirs |= roots(theirs) | {word[:SAME] for word in theirs if len(word) > SAME}
    return theirs.union(*(line for line in _synonyms() if not line.isdisjoint(theirs)))


def _is_misspelt(word: str, theirs: frozenset[str]) -> bool:
    """Return whether a review has the word with one letter more, less, or another: `mohila`."""
    return len(word) >= LONG_WORD and any(
        other[:1] == word[:1] and abs(len(other) - len(word)) <= 1 and _differ_by_one(word, other) for other in theirs
    )


def _differ_by_one(word: str, other: str) -> bool:
    same = next(
        (place for place, (one, two) in enumerate(zip(word, other, strict=False)) if one != two),
        min(len(word), len(other)),
    )
    return other[same + 1 :] == word[same + 1 :] or other[same:] == word[same + 1 :] or other[same + 1 :] == word[same:]


@cache
def _synonyms() -> tuple[frozenset[str], ...]:
    return tuple(roots(map(fold, line.split(", "))) for line in read_lexicon("complaint_synonyms"))


@cache
def _matter() -> Mapping[str, frozenset[str]]:
    lines = (line.split(": ") for line in read_lexicon("complaint_matter"))
    return {name: roots(fold(word) for word in words.split(", ")) for name, words in lines}
