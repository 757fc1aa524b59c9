"""Replacement of personal data by typed placeholders, such as `[CPF]` (LGPD, Lei 13.709/2018, art. 5).

Rather too much goes than too little: every run of five or more digits that is no money, quantity or day of these years,
names with an `@`, web addresses, and labels' values. The patterns are data (`data/personal_data/patterns.toml`). Texts
are normalized as people paste them: any script's digits, any dash and any space become plain ones, letters small, and
zero-width characters between them are ignored. All else stays byte for byte. No value is stored, logged or raised.
"""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args

import polars as pl
from stdnum import luhn
from stdnum.br import cnpj, cpf

DATA_FILES: Final = ("data/personal_data/patterns.toml",)
Kind = Literal[
    "CPF", "CNPJ", "EMAIL", "TELEFONE", "CEP", "CARTAO", "URL", "RG", "CNH", "PIS", "TITULO", "PLACA", "NASCIMENTO",
    "CVV", "PIX", "PERFIL", "NOME", "ENDERECO", "NUMERO",
]  # fmt: skip
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
LEAST_PERSONAL: Final = 10**9
"""Whole numbers of JSON from which they may be a CPF or a telephone; below, they are figures of a table."""
OF_PEOPLE: Final = ("customer_id", "source")
"""Columns in which a bare number may be a telephone or a CPF; elsewhere it numbers orders and reviews."""

_MOST_PASSES: Final = 8
"""A placeholder leaves its surroundings, so a further pass finds only what the one before it uncovered."""
_FEWEST_TOGETHER, _FEWEST_APART = 5, 7
"""Digits that are personal side by side, and in groups; fewer are two prices or a size."""
_FEWEST_SPELLED: Final = 5  # Numerals and digits; one fewer behind the name of a document.
_DOCUMENTS: Final = ("CPF", "CNPJ", "CEP", "RG", "CNH", "PIS", "TITULO")
_WINDOW: Final = 40
_CARD_LENGTHS, _PHONE_LENGTHS = range(14, 17), range(8, 15)
_CPF_LENGTH, _CNPJ_LENGTH = 11, 14
_NUMBER: Final = re.compile(r"\d+")
_PUNCTUATED_CPF: Final = re.compile(r"\d{3}\.\d{3}\.\d{3}-\d\d")
_POSTCODE: Final = re.compile(r"\d\d\.?\d{3}-\d{3}")
_ADDRESS: Final = r"[^\s@]{1,64}@[^\s@]{1,100}\.[a-z]{2,}"
_TELEPHONE_OR_EMAIL: Final = re.compile(rf"\+55[ -]?\(?[1-9]\d\)?[ -]?9?[ .]?\d{{4}}[ .-]?\d{{4}}|{_ADDRESS}")
_BARE_MOBILE: Final = re.compile(r"(?:55)?[1-9]\d9\d{8}")
_HOLDS_A_PERSON: Final = re.compile(
    rf"{_ADDRESS}|(?<!\d)(?:\d{{3}}\.\d{{3}}\.\d{{3}}-\d{{2}}|\(?[1-9]\d\)?[ -]?9?[ .]?\d{{4}}-\d{{4}})(?!\d)"
)
_HIDDEN, _HIDDEN_CARD = "\ue000", "\ue001"
"""Stand for each character of what was found, of a card and of anything else, and are part of no value."""
_DATA: Final[Mapping[str, Any]] = tomllib.loads(
    (Path(__file__).resolve().parents[2] / DATA_FILES[0]).read_text(encoding="utf-8")
)
_PARTS: Final[dict[str, str]] = {}


def _whole(lines: str | list[str]) -> str:
    """Return a pattern with its parts in it."""
    return re.sub(r"<<(\w+)>>", lambda part: _PARTS[part[1]], "".join(lines))


for _name, _lines in (*_DATA["parts"].items(), ("NAMES", _DATA["patterns"]["names"])):
    _PARTS[_name] = _whole(_lines)
_LABELLED: Final[tuple[tuple[Kind, re.Pattern[str], re.Pattern[str]], ...]] = tuple(
    (each["kind"], re.compile(_whole(each["cue"])), re.compile(_whole(each["pattern"]))) for each in _DATA["labelled"]
)
"""Kinds with a cue and a pattern each, in the order of their claims."""
_KEPT, _RUN, _SPELLED, _NUMERAL, _JOIN, _BEHIND_CARD, _NAMES, _BROKEN = (
    re.compile(_whole(_DATA["patterns"][name]))
    for name in ("kept", "run", "spelled", "numeral", "join", "behind_card", "names", "broken")
)
_CUES: Final = (
    *dict.fromkeys(cue.pattern for _, cue, _ in _LABELLED),
    *map(_whole, _DATA["patterns"]["number_cues"]),
    # Read by `scrub` as other signs.
    r"[\p{Nd}--0-9]|[\x{ff01}-\x{ff5e}\x{fe6b}\x{e000}-\x{f8ff}]",
)
Found = tuple[int, int, Kind]


def scrub(text: str) -> tuple[str, Counter[Kind]]:
    """Return a text with placeholders for personal data, and the number of each kind; a second time changes nothing."""
    counts: Counter[Kind] = Counter()
    for _ in range(_MOST_PASSES):
        found = _find(text)
        if not found:
            break
        counts.update(kind for _, _, kind in found)
        edges = [0, *(edge for start, end, _ in found for edge in (start, end)), len(text)]
        kept = [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
        text = kept[0] + "".join(f"[{kind}]{rest}" for (_, _, kind), rest in zip(found, kept[1:], strict=True))
    return text, counts


def scrub_column(texts: pl.Series) -> list[tuple[str, Counter[Kind]]]:
    """Scrub each text of a column; what cannot hold personal data is not searched."""
    marked = zip(texts, may_hold_personal_data(texts), strict=True)
    return [scrub(text) if is_suspect else (text, Counter()) for text, is_suspect in marked]


def may_hold_personal_data(texts: pl.Series) -> pl.Series:
    """Mark, by a fast test, the texts that may hold personal data: all that `scrub` would change, and others."""
    plain = texts.str.replace_all(r"[\p{Mn}\p{Me}\p{Cf}]+", "")
    plain = plain.str.replace_all(r"[\p{Zs}--\x20]", " ").str.replace_all(r"[\p{Pd}\x{2212}--\-]", "-").alias("plain")
    # One by one, and with \S, which is wider than \w: Rust reads all in one, or many \w of Unicode, far more slowly.
    cues = (pl.col("plain").str.contains("(?i)" + cue.replace(r"\w", r"\S")) for cue in _CUES)
    return plain.to_frame().select(pl.any_horizontal(cues)).to_series().alias(texts.name)


def names_a_person(identifier: str) -> bool:
    """Return whether an identifier is itself an e-mail address, a CPF, a punctuated CNPJ or a telephone with +55."""
    plain = _plain(identifier)[0].strip()
    if re.fullmatch(r"\d{3}[ .]?\d{3}[ .]?\d{3}[ ./-]?\d{2}", plain):
        return bool(cpf.is_valid(plain))
    if re.fullmatch(r"[a-z\d]{2}\.?[a-z\d]{3}\.?[a-z\d]{3}/[a-z\d]{4}-?\d{2}", plain):
        return bool(cnpj.is_valid(plain))
    return _TELEPHONE_OR_EMAIL.fullmatch(plain) is not None


def personal_identifiers(identifiers: pl.Series) -> pl.Series:
    """Return of each identifier whether it is or holds personal data, which an order's or a product's number is not."""
    # Most shops name their rows by 32 hexadecimal digits, as Olist does: these need no search.
    odd = ~identifiers.str.contains(r"^[0-9a-f]{32}$").fill_null(value=True)
    verdicts = {name: _is_personal(name, identifiers.name) for name in identifiers.filter(odd).unique()}
    return identifiers.replace_strict(verdicts, default=False, return_dtype=pl.Boolean)


def _is_personal(name: str, column: str) -> bool:
    plain = _plain(name)[0]
    if plain.isdecimal():
        return column in OF_PEOPLE and (bool(cpf.is_valid(plain)) or _BARE_MOBILE.fullmatch(plain) is not None)
    numbers = [number for number in _NUMBER.findall(plain) if len(number) == _CPF_LENGTH]
    return names_a_person(name) or _HOLDS_A_PERSON.search(plain) is not None or any(map(cpf.is_valid, numbers))


def _find(text: str) -> list[Found]:
    plain, places = _plain(text)
    plain = _BROKEN.sub(lambda match: match[0].replace("\n", " "), plain)
    found: list[Found] = []
    for kind, cue, pattern in _LABELLED:
        if cue.search(plain):
            plain = _claim(plain, found, [(*_span(match), kind) for match in pattern.finditer(plain)])
    if any(_is_long(match[0]) for match in _RUN.finditer(plain)):
        shown = plain
        plain = _KEPT.sub(lambda match: _HIDDEN * len(match[0]), plain)
        runs = [match.span() for match in _RUN.finditer(plain) if _is_long(match[0])]
        plain = _claim(plain, found, [(start, end, _kind_of(shown, start, end)) for start, end in runs])
    plain = _claim(plain, found, [(*_span(match), "CVV") for match in _BEHIND_CARD.finditer(plain)])
    spelled = [(match, _spelled_kind(match)) for match in _SPELLED.finditer(plain)]
    _claim(plain, found, [(*_span(match), kind) for match, kind in spelled if kind is not None])
    found.sort()
    return found if places is None else [(places[start], places[end], kind) for start, end, kind in found]


def _span(match: re.Match[str]) -> tuple[int, int]:
    """Return the place of a value, without the signs that end its sentence."""
    start, end = match.span("value" if "value" in match.re.groupindex else 0)
    return start, start + len(match.string[start:end].rstrip(" \t\n.,;:!?)"))


def _claim(text: str, found: list[Found], spans: list[Found]) -> str:
    """Add what was found, and hide it from further searches."""
    parts: list[str] = []
    last = 0
    for start, end, kind in spans:
        parts += text[last:start], (_HIDDEN_CARD if kind == "CARTAO" else _HIDDEN) * (end - start)
        last = end
    found += spans
    return "".join([*parts, text[last:]]) if parts else text


def _is_long(run: str) -> bool:
    groups = [len(group) for group in _NUMBER.findall(run)]
    return max(groups) >= _FEWEST_TOGETHER or sum(groups) >= (_FEWEST_TOGETHER if max(groups) == 1 else _FEWEST_APART)


def _spelled_kind(match: re.Match[str]) -> Kind | None:
    """Return the kind of a number in words, alone or beside a placeholder; None if it is too short or a quantity."""
    text, joins = match[0], {*_JOIN.findall(match[0])}
    words, digits = len(_NUMERAL.findall(text)), sum(map(str.isdigit, text))
    is_clear = bool(joins - {"depois"})
    kind = next((kind for kind in KINDS if f"[{kind.lower()}]" in text), None)
    if kind is not None:
        if kind not in _DOCUMENTS and text.startswith("["):
            words -= text.count(" e ")  # `vinte e dois` may count things
        is_number = words > 1 or (bool(joins) and words + digits >= (1 if is_clear else 4))
    else:
        kind = _named(match.string, match.start()) or "TELEFONE"
        is_document = kind in _DOCUMENTS
        is_spelled = words > 1 and words + digits >= _FEWEST_SPELLED - is_document
        is_number = is_spelled or (digits >= _FEWEST_APART and (is_clear or (is_document and bool(joins))))
    return kind if is_number and match["unit"] is None else None


def _kind_of(text: str, start: int, end: int) -> Kind:
    """Return the kind by a card's check digit, a word before the number, other check digits, or its length."""
    number = "".join(filter(str.isdigit, text[start:end]))
    if len(number) in _CARD_LENGTHS and luhn.is_valid(number):
        return "CARTAO"
    is_cpf = len(number) == _CPF_LENGTH and bool(cpf.is_valid(number))
    named = "CPF" if is_cpf and _PUNCTUATED_CPF.fullmatch(text, start, end) else _named(text, start)
    if named is not None and named != "NUMERO":
        return named
    if is_cpf:
        return "CPF"
    if len(number) == _CNPJ_LENGTH and cnpj.is_valid(number):
        return "CNPJ"
    if _POSTCODE.fullmatch(text, start, end):
        return "CEP"
    return named or ("TELEFONE" if len(number) in _PHONE_LENGTHS else "NUMERO")


def _named(text: str, start: int) -> Kind | None:
    names = [match.lastgroup for match in _NAMES.finditer(text, max(start - _WINDOW, 0), start)]
    return next((kind for kind in KINDS if names and kind == names[-1]), None)


def _plain(text: str) -> tuple[str, list[int] | None]:
    """Return a text in lower case and plain characters, and the position of each; no positions if none is left out."""
    if text.isascii():
        return text.lower(), None
    plain = text.translate(_PLAIN_SIGNS)
    if len(plain) == len(text):
        return plain, None
    return plain, [*(place for place, sign in enumerate(text) if _PLAIN_SIGNS[ord(sign)] is not None), len(text)]


class _PlainSigns(dict[int, int | None]):
    """Lazy map of code points to their normalized form."""

    def __missing__(self, code: int) -> int | None:
        sign = chr(code)
        category = unicodedata.category(sign)
        # A private sign would be taken for what is hidden.
        plain = {"Zs": " ", "Pd": "-", "Co": "?"}.get(category, sign.lower())
        if category == "Nd":
            plain = str(unicodedata.digit(sign))
        elif "\uff01" <= sign <= "\uff5e":
            plain = chr(code - 0xFEE0).lower()
        plain = {"\N{MINUS SIGN}": "-", "\N{SMALL COMMERCIAL AT}": "@"}.get(sign, plain)
        self[code] = None if category in {"Mn", "Me", "Cf"} else ord(plain) if len(plain) == 1 else code
        return self[code]


_PLAIN_SIGNS: Final = _PlainSigns()
