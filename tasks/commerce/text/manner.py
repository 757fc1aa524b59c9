"""Manner of a text to a shopper or a manager: nothing that a Brazilian shop would not send, whatever else it says.

Lists are data, proof-read; this module says what a hit costs. Matching is by whole folded words, so that neither signs
nor capitals between them hide a phrase, and `reputação` holds no insult. What words alone do not decide is left out of
the lists: a padlock with a `senha`, CPF `na nota`, `saco de dormir`, `SP` and `PIX` in capitals cost nothing.

Good pushes, analyses and reasons of churn keep all of their reward, 1,500 of 1,500; so do 95 % of 3,095 real reviews:
3.5 % are written in capitals, and 1 % hold an insult, an address or a telephone number. It reads no meaning: slander,
surveillance, irony and insults made of ordinary words pass, for which rewards have closed lists (`vocabulary`).
"""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import FUNCTION_WORDS, MAX_CHARACTERS, fold, folded_words, ramp

DATA_FILES: Final = (
    "data/lexicons/data_requests.txt",
    "data/lexicons/discrimination.txt",
    "data/lexicons/english_text.txt",
    "data/lexicons/english_words.txt",
    "data/lexicons/european_portuguese.txt",
    "data/lexicons/european_spellings.txt",
    "data/lexicons/groups_of_people.txt",
    "data/lexicons/leaks.txt",
    "data/lexicons/offences.txt",
    "data/lexicons/private_data.txt",
    "data/lexicons/scams.txt",
    "data/lexicons/spanish_words.txt",
    "data/lexicons/threats.txt",
)
UNSENDABLE: Final = 0.2
"""Share of the reward that an insult, a threat, a link, a request for data, a leak or another language leaves."""
EUROPEAN: Final = 0.4
"""Share that European Portuguese leaves: it is understood, and laughed at."""
SHOUTED: Final = 0.4
FEW_FOREIGN: Final = 0.1
"""Share of words of another language up to which a text is Portuguese, as with names of products."""
MANY_FOREIGN: Final = 0.25
MAX_WORDS: Final = 800
REQUEST_REACH: Final = 6
"""Words between a verb and the data that it asks for."""
_NEGATIONS: Final = frozenset(("nao", "nunca", "jamais", "sem", "ninguem"))
_NO_CAPITALS: Final = bytes(code for code in range(256) if not chr(code).isupper())
_NO_LETTERS: Final = bytes(code for code in range(256) if not chr(code).isalpha())
_FEW_LETTERS: Final = 12
"""Capitals up to which a text is a title or an acronym."""


_EUROPEAN_LIST: Final = "european_portuguese"
_PHRASE_LISTS: Final = (
    "offences",
    "discrimination",
    "leaks",
    "scams",
    "threats",
    "private_data",
    _EUROPEAN_LIST,
)


_USUAL: Final = frozenset(("cliente", "clientes", "boleto", "pague", "banho"))
"""Words that texts of a shop have oftener than others of the same phrases."""


def _by_rarest_word() -> dict[str, list[tuple[int, list[str], str]]]:
    """Return phrases by their rarest word, taken to be the longest with meaning: each with its place, and its list."""
    phrases: dict[str, list[tuple[int, list[str], str]]] = {}
    for name in _PHRASE_LISTS:
        for phrase in (folded_words(fold(entry)) for entry in read_lexicon(name) if not entry.startswith("~")):
            key = max(phrase, key=lambda word: (word not in FUNCTION_WORDS, word not in _USUAL, len(word)))
            phrases.setdefault(key, []).append((phrase.index(key), phrase, name))
    return phrases


_PHRASES: Final = _by_rarest_word()
_REQUESTS: Final = frozenset(map(fold, read_lexicon("data_requests")))
_STALKS: Final = re.compile(
    r"\b(?:sei|sabemos|descobri|descobrimos) onde (?:[a-z]{1,12} ){0,5}(?:mora|moram|vive|vivem)\b"
)
_GROUPS: Final = frozenset(
    form
    for entry in map(fold, read_lexicon("groups_of_people"))
    for stem in {entry, f"{entry[:-1]}a" if entry.endswith("o") else entry}
    for form in (stem, f"{stem}s", f"{stem}es")
)
_AGAINST_ALL: Final = re.compile(
    rf"(?:^|[.!?:;,\n-]) {{0,3}}(?:os |as |todo |toda )?(?:{'|'.join(sorted(_GROUPS))}) (?:[a-z]{{1,14}} ){{0,4}}"
    r"(?:nao (?:sabe|merece|presta|entende|serve|paga|volta|deve|pode|consegue|compra|precisa|vale)"
    r"|so (?:compra|serve|presta|quer|reclama|atrapalha|da |sabe|vive)|nunca (?:paga|volta|compra))"
)
_PERHAPS_EUROPEAN: Final[Mapping[str, int]] = {
    fold(word): group
    for group, line in enumerate(line for line in read_lexicon(_EUROPEAN_LIST) if line.startswith("~"))
    for word in line[1:].split()
}
_SPELLINGS: Final = {fold(word): word for word in read_lexicon("european_spellings")}
_PROGRESSIVE: Final = frozenset(("esta", "estao", "estou", "estamos", "estava", "estavam"))
_CONTINUED: Final = ("sta a ", "stao a ", "stou a ", "stamos a ", "stava a ", "stavam a ")
_NO_VERBS: Final = frozenset(("partir", "par", "lugar", "mulher", "mar", "ar"))
_ENGLISH: Final = frozenset((*read_lexicon("english_words"), *read_lexicon("english_text")))
_SPANISH: Final = frozenset(map(fold, read_lexicon("spanish_words")))

_LABELS: Final = frozenset(
    ("system", "user", "assistant", "usuario", "assistente", "sistema", "instrucao", "instruction")
)
_LONE_WORDS: Final = frozenset().union(_PERHAPS_EUROPEAN, _SPELLINGS, _ENGLISH, _SPANISH, _LABELS, _GROUPS)
_MARKS: Final = _LONE_WORDS.union(_PHRASES)
"""Words without which no list can match, as in most texts."""
_CONTROL_BYTES: Final = bytes((*range(9), 11, 12, *range(14, 32), 127))
_ORDINARY: Final = bytes(code for code in range(256) if code not in b"@<>{}[]\\_*" + _CONTROL_BYTES)
_PLAIN: Final = bytes(
    code for code in _ORDINARY if not (chr(code).isupper() or chr(code).isdecimal()) and code not in b"?\xa1\xbf"
)
_CONTROLS: Final = re.compile(r"[\u200b\u202a-\u202e\u2066-\u2069\ufffd]")
_NO_DIGITS: Final = bytes(code for code in range(256) if not 48 <= code <= 57)
_DIGITS_OF_PHONE: Final = 8
_DOMAINS: Final = (
    r"(?:com\.br|net\.br|org\.br|com|net|org|info|xyz|site|online|shop|store|club|top|ru|cn|tk|io|co|me|ly|gl|gg"
    r"|link|click|app|br|pt|es|live|vip|biz|cc|ws|page|web|dev)"
)
_HOST: Final = re.compile(
    # The dot first, which is found faster than what is before it.
    r"\.(?=[a-z])(?<=[a-z0-9]\.)(?:[a-z]{2,12}/[a-z0-9]|" + _DOMAINS + r"(?![a-z0-9])"
    # `Muito bom.com certeza volto` lacks a blank and is no address.
    r"(?=\W*$|[,;:!?)]|\.(?!\w)|\s+(?:e|ou|para|pra|agora|hoje|antes|ja|que|com|em|no|na|pelo)\b))"
)
_AT: Final = re.compile(r"@[a-z0-9_]")
_EIGHT_DIGITS: Final = re.compile(r"\d{4}-?\d{4}")
_PHONE: Final = re.compile(
    r"(?<!\d)(?:\+?55 ?)?(?:\(\d{2}\) ?|\d{2} )9?\d{4}-?\d{4}(?!\d)|(?<!\d)9\d{4}-\d{4}(?!\d)|0800 ?\d"
)
_BRACKETED: Final = re.compile(
    r"\{\{|\}\}|\{%|\{[^{}\n]{0,40}\}|<\|?/?[^\W\d][^<>\n]{0,40}\|?>|<\||\|>"
    r"|\[(?:\s{0,9}|/?[^\W\d][^\[\]\n]{0,40})\]|<!--"
)
_MASKED: Final = re.compile(r"\*(?<=[^\W\d_]\*)\*{0,3}[^\W\d_]")
"""A word with letters starred out, which is none of Markdown's."""
_LABEL: Final = re.compile(rf"(?:^|\n)\W{{0,9}}(?:{'|'.join(sorted(_LABELS))})\s{{0,9}}:")
_BLANKS: Final = re.compile(r"\bx{2,}(?:%|\s*%|,x)|\bx{3,}\b|r\$ ?x+")


def manner(text: str, folded: str, text_words: list[str]) -> float:
    """Return the share of its reward, in [0, 1], that a text to a shopper or a manager keeps by its manner.

    1 for ordinary Brazilian prose, informal too, with emoji, acronyms and a word in capitals; `EUROPEAN` or `SHOUTED`
    for European Portuguese and for text mostly in capitals; `UNSENDABLE` for what no manager sends.

    Args:
        text: The text, of which `MAX_CHARACTERS` are read.
        folded: The folded text.
        text_words: The folded text's words, of which `MAX_WORDS` are read.
    """
    if len(text) > MAX_CHARACTERS:
        text, folded, text_words = text[:MAX_CHARACTERS], folded[:MAX_CHARACTERS], text_words[:MAX_WORDS]
    raw = text.encode("latin-1", "replace")
    # Most texts have a few capitals and digits beside small letters and plain signs, and nothing else.
    odd = raw.translate(None, _PLAIN)
    is_plain = len(odd) < _DIGITS_OF_PHONE and (not odd or odd.isalnum())
    if (not is_plain and _is_marked(text, folded, raw)) or _leads_away(folded) or _stalks(folded):
        return UNSENDABLE
    kept = 1.0 if is_plain else _calm(text, raw)
    marks = _MARKS.intersection(text_words)
    if marks:
        kept = min(kept, _worded(text, folded, text_words, marks))
    return min(kept, EUROPEAN) if _progresses(folded, text_words) else kept


def _worded(text: str, folded: str, text_words: list[str], marks: AbstractSet[str]) -> float:
    """Grade by the words of lists that a text has."""
    lists = _lists_in(text_words, marks)
    if not lists <= {_EUROPEAN_LIST}:
        return UNSENDABLE
    if not marks.isdisjoint(_LONE_WORDS):
        if not marks.isdisjoint(_LABELS) and _LABEL.search(folded):
            return UNSENDABLE
        if not marks.isdisjoint(_GROUPS) and _AGAINST_ALL.search(folded):
            return UNSENDABLE
        return _brazilian(text, text_words, marks, lists)
    return EUROPEAN if lists else 1.0


def _lists_in(text_words: list[str], marks: AbstractSet[str]) -> set[str]:
    """Return the lists of which a text has a phrase, by those of its words that are on any."""
    lists = set()
    for word in filter(_PHRASES.__contains__, marks):
        place = -1
        for _ in range(text_words.count(word)):
            place = text_words.index(word, place + 1)
            for behind, phrase, name in _PHRASES[word]:
                start = place - behind
                if start >= 0 and text_words[start : start + len(phrase)] == phrase and _means(name, text_words, start):
                    lists.add(name)
    return lists


def _means(name: str, text_words: list[str], start: int) -> bool:
    """Return whether a list's phrase means there what it is listed for: `você não vai se arrepender` is no threat."""
    if name == "threats":
        return not start or text_words[start - 1] not in _NEGATIONS
    return name != "private_data" or not _REQUESTS.isdisjoint(text_words[max(start - REQUEST_REACH, 0) : start])


def _stalks(folded: str) -> bool:
    return " onde " in folded and bool(_STALKS.search(folded))


def _leads_away(folded: str) -> bool:
    """Return whether a text holds an address of the web, or a placeholder."""
    if "http" in folded or "www." in folded or _HOST.search(folded):
        return True
    return ("xx" in folded or "$ x" in folded or "$x" in folded) and bool(_BLANKS.search(folded))


def _is_marked(text: str, folded: str, raw: bytes) -> bool:
    """Return whether a text holds a telephone number, a control, a masked word, an account, a field or code."""
    if len(raw.translate(None, _NO_DIGITS)) >= _DIGITS_OF_PHONE and (
        ("0800" in folded or _EIGHT_DIGITS.search(folded)) and _PHONE.search(folded)
    ):
        return True
    # What Latin-1 lacks has become a question mark.
    if raw.count(b"?") != text.count("?") and _CONTROLS.search(text):
        return True
    signs = raw.translate(None, _ORDINARY)
    return bool(signs) and bool(
        signs.translate(None, b"@<>{}[]\\_*")
        or (b"*" in signs and ("/*" in text or _MASKED.search(text)))
        or (b"@" in signs and _AT.search(folded))
        or (b"_" in signs and "___" in text)
        or (b"\\" in signs and ("\\n" in text or "\\u" in text))
        or (signs.translate(None, b"@*_\\") and _BRACKETED.search(text))
    )


def _brazilian(text: str, text_words: list[str], marks: AbstractSet[str], lists: AbstractSet[str]) -> float:
    """Grade by words of other languages: of Portugal a phrase, one sure or two possible ones, of others their share."""
    for foreign in (_ENGLISH, _SPANISH):
        if not marks.isdisjoint(foreign):
            share = sum(map(foreign.__contains__, text_words)) / len(text_words)
            if share > FEW_FOREIGN and share * len(text_words) > 1:
                return 1 - (1 - UNSENDABLE) * ramp(share, FEW_FOREIGN, MANY_FOREIGN)
    if len({_PERHAPS_EUROPEAN[word] for word in filter(_PERHAPS_EUROPEAN.__contains__, marks)}) > 1:
        return EUROPEAN
    if _EUROPEAN_LIST in lists:
        return EUROPEAN
    spelled = text.lower()
    return EUROPEAN if any(_SPELLINGS[word] in spelled for word in filter(_SPELLINGS.__contains__, marks)) else 1.0


def _progresses(folded: str, text_words: list[str]) -> bool:
    """Return whether a verb goes on as in Portugal: `está a chegar`, where Brazil has `está chegando`."""
    if " a " not in folded or not any(part in folded for part in _CONTINUED):
        return False
    return any(
        word in _PROGRESSIVE and second == "a" and third[-2:] in ("ar", "er", "ir") and third not in _NO_VERBS
        for word, second, third in zip(text_words, text_words[1:], text_words[2:], strict=False)
    )


def _calm(text: str, raw: bytes) -> float:
    """Grade by capitals (1 up to half, `SHOUTED` from seven tenths on) and by signs of other languages."""
    if "¡" in text or "¿" in text:
        return UNSENDABLE
    if "€" in text:
        return EUROPEAN
    capitals = len(raw.translate(None, _NO_CAPITALS))
    if capitals <= _FEW_LETTERS:
        return 1.0
    letters = len(raw.translate(None, _NO_LETTERS))
    return 1 - (1 - SHOUTED) * ramp(capitals / letters, 0.5, 0.7)
