"""CPF, CNPJ, cards, telephones and CEP in a normalized text.

A number is matched in the formats that people use, its check digits or its place in the numbering plan are verified,
and the preceding words decide ambiguous formats. The rules, from the strongest:

- an order word that leads to the number (`pedido nº 11987654321`, `protocolo`, `código`, `nota fiscal`, `rastreio`)
  makes it that; only unique punctuation (a CPF's, a CNPJ's, a card's groups, an area in brackets, +55) outweighs it, or
  the word CPF or CNPJ with no other number between (`o cpf que está no pedido é ...`);
- a bare number of 11 digits that is both a mobile and a CPF follows the nearest word (`cpf`, `whats`, `ligar`); without
  one it is a CPF, since of all CPF one in 15 is a mobile too, of all mobiles one in 100 a CPF;
- spaces alone also separate the cells of a table: a number in them must be isolated from further digits;
- groups that are never printed but typed (`11 98765 43 21`) are a telephone or a card if a word leads to them;
- 8 digits are a CEP only beside `cep` or in an address (behind a street or a quarter, before a city or a state), a
  telephone only beside a word for one; a landline without brackets, hyphen or such a word stays, and so does a bare
  number adjacent to letters (`LB123456789BR`, `i5-10300H`);
- 0800, 0300 and 4004 are companies' numbers and stay.

Every pattern is bounded and starts at a digit's left edge, so that a text is read in time linear in its length.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal

from stdnum import luhn
from stdnum.br import cnpj, cpf

NumberKind = Literal["CPF", "CNPJ", "TELEFONE", "CEP", "CARTAO"]
Span = tuple[int, int]
Number = tuple[int, int, NumberKind]

_WINDOW: Final = 48
"""Characters before a number that are searched for a keyword."""
_ADDRESS_WINDOW: Final = 80
_MOST_GROUPS: Final = 6
"""Digit groups in a telephone without a keyword: `+55 11 9 8765 43 21`."""
_GAP: Final = r"[ \t.,·•/_-]{0,3}"
_TIGHT: Final = r"[ .·•_-]{0,3}"
_DIGIT: Final = re.compile(r"[0-9]")
_EDGE: Final = r"(?<!\d)"
_CPF: Final = re.compile(rf"{_EDGE}\d{{3}}{_GAP}\d{{3}}{_GAP}\d{{3}}{_GAP}\d{{2}}(?!\d)")
_CPF_APART: Final = re.compile(rf"{_EDGE}\d(?:{_GAP}\d){{10}}(?!\d)")
_CNPJ: Final = re.compile(rf"{_EDGE}\d{{2}}{_GAP}\d{{3}}{_GAP}\d{{3}}{_GAP}\d{{4}}{_GAP}\d{{2}}(?!\d)")
_CNPJ_WITH_LETTERS: Final = re.compile(
    r"(?<![a-z0-9])[a-z0-9]{2}[ .-]?[a-z0-9]{3}[ .-]?[a-z0-9]{3} ?[/ .-]? ?[a-z0-9]{4} ?[ ./-]? ?[0-9]{2}(?![a-z0-9])"
)
_CARD: Final = re.compile(
    rf"{_EDGE}(?:\d{{4}}[ \t.·•_/-]{{0,3}}){{3}}\d{{4}}(?!\d)"
    rf"|{_EDGE}\d{{4}}[ \t.·•_/-]{{0,3}}\d{{6}}[ \t.·•_/-]{{0,3}}\d{{4,5}}(?!\d)"
)
_CARD_APART: Final = re.compile(rf"{_EDGE}\d(?:{_TIGHT}\d){{13,15}}(?!\d)")
_PHONE: Final = re.compile(
    rf"{_EDGE}(?P<country>\+ ?55[ .-]{{0,2}}|0{{0,2}}55[ .-]{{0,2}})?"
    r"(?P<trunk>(?:[(\[] ?)?0 ?(?:xx ?)?(?:[1-9]\d ?(?=[(\[]?[1-9]\d))?)?"
    r"(?P<area>(?:[(\[] {0,2})?[1-9]\d(?: {0,2}[)\]])?)(?P<apart>[ .·•/_-]{0,3})"
    r"(?P<number>9[ .·•-]{0,3}\d{4}[ .·•_-]{0,3}\d{4}|9\d\d[ .]\d{3}[ .]\d{3}|[2-9]\d{3}[ .·•_-]{0,3}\d{4})(?!\d)"
)
_PHONE_APART: Final = re.compile(
    rf"{_EDGE}(?:\+? ?55{_TIGHT})?(?P<area>[(\[]?0?[1-9]\d[)\]]?{_TIGHT})?"
    rf"(?P<number>(?:9{_TIGHT})?[2-9](?:{_TIGHT}\d){{7}})(?!\d)"
)
_GROUPS: Final = re.compile(r"\d+")
_LOCAL_PHONE: Final = re.compile(rf"{_EDGE}(?:9[ .·•-]{{0,3}})?[2-9]\d{{3}}[ .·•_-]{{0,3}}\d{{4}}(?!\d)")
_CEP: Final = re.compile(rf"{_EDGE}\d{{2}}\.?\d{{3}}[ .·•_-]{{0,3}}\d{{3}}(?!\d)")
_CEP_ALONE: Final = re.compile(r"\d{2}\.?\d{3}-\d{3}")
_CEP_IN_ADDRESS: Final = re.compile(r"\d{5} ?\d{3}|\d{2}\.?\d{3}-\d{3}")
_STREET: Final = re.compile(
    r"(?<![^\W\d_])(?:(?:r|al|p[cç]a)\.|(?:rua|av(?:enida)?|trav(?:essa)?|tv|alameda|rod(?:ovia)?|estr(?:ada)?|pra[cç]a"
    r"|largo|viela|quadra|qd|conjunto|cj|residencial|condom[ií]nio|bairro|jardim|jd|vila|vl|endere[cç]o|logradouro|bloco"
    r"|apto)(?![^\W\d_]))"
)
_AS_IN_ADDRESS: Final = re.compile(
    r"[^\W_][ \t]*[,;\n/-][ \t]*\Z|(?:bairro|jardim|jd\.?|vila|vl\.?|cidade)(?: [^\W\d_]+){1,4} \Z"
)
_SENTENCE: Final = re.compile(r"[^\W\d_][^\n$]*[^\w\n$]\Z")
_PLACE_AFTER: Final = re.compile(
    r"[ \t]?[,;/\n-]?[ \t]?(?:"
    r"aracaju|bel[eé]m|belo horizonte|boa vista|bras[ií]lia|campinas|campo grande|contagem|cuiab[aá]|curitiba"
    r"|duque de caxias|feira de santana|florian[oó]polis|fortaleza|goi[aâ]nia|guarulhos|jo[aã]o pessoa|joinville"
    r"|juiz de fora|londrina|macap[aá]|macei[oó]|manaus|natal|niter[oó]i|nova igua[cç]u|osasco|palmas|porto alegre"
    r"|porto velho|recife|ribeir[aã]o preto|rio branco|rio de janeiro|salvador|santo andr[eé]|santos|s[aã]o bernardo"
    r"|s[aã]o gon[cç]alo|s[aã]o jos[eé]|s[aã]o lu[ií]s|s[aã]o paulo|sorocaba|teresina|uberl[aâ]ndia|vit[oó]ria"
    r"|minas gerais|paran[aá]|santa catarina|rio grande do (?:sul|norte)|bahia|pernambuco|cear[aá]|goi[aá]s"
    r"|distrito federal)(?![^\W\d_])"
    r"|(?: ?[/-] ?(?:rs|se|to)|,? ?[ ,/-] ?(?:a[clmp]|ba|ce|df|es|go|m[agst]|p[abeir]|r[jnor]|s[cp]))"
    r"[ \t]*(?=[,.;)\n]|\Z)"
)
"""Capitals, the other largest cities, states, and state codes at an end only: `se`, `to`, `rs` are words too."""

_LABEL: Final = re.compile(
    r"(?<![^\W\d_])(?:"
    r"(?P<CPF>c\.?p\.?f)"
    r"|(?P<CNPJ>c\.?n\.?p\.?j|cgc)"
    r"|(?P<CEP>c\.?e\.?p|(?:c[oó]d(?:igo)?\.? )?postal)"
    r"|(?P<CARTAO>cart[aã]o|cart[oõ]es|cr[eé]dito|d[eé]bito|visa|master(?:card)?|amex|elo|hipercard|diners)"
    r"|(?P<TELEFONE>tele?fones?|tels?|fones?|cel(?:ular(?:es)?)?|wh?ats\w{0,4}|wpp?|zap\w{0,5}"
    r"|lig(?:a|o|ar|ue|uem|am|uei|ando|a[cç][aã]o)|contatos?|contact\w{0,3}|cham[aeo]\w{0,3}|fal(?:a|ar|e|em|o)"
    r"|ddd(?:[ :(]{0,2}\d\d\)?(?!\d))?|sms|recados?|ramal|fixo|residencial|disc\w{1,3}|phone|mobile"
    r"|meu (?:n[uú]m(?:ero)?|nro|n[º°])(?! d[aeo]s?(?!\w)))"
    r"|(?P<ORDER>pedidos?|ordem|ordens|order|compra|protocolos?|c[oó]d(?:igos?)?|notas?|fiscal|nfs?|nf-?e|danfe|rastreio"
    r"|rastreamento|rastrear|objeto|chave|acesso|ean|gtin|sku|ref|refer[eê]ncia|s[eé]rie|lote|imei|boleto|contrato"
    r"|processo|id|ticket|chamado|atendimento|isbn|barras|ncm|modelo|item|transa[cç][aã]o|fatura|nsu|cupom|voucher|sac"
    r"|arquivo|matr[ií]cula|nosso n[uú]mero)"
    r")(?![^\W\d_])"
)
_LEADS: Final = re.compile(
    r"(?:[^\w\n]|\b(?:n|no|nr|nro|num|n[uú]mero|de|do|da|dos|das|e|eh|é|o|a|os|as|foi|era|meu|minha|seu|com|esse|este|aqui"
    r"|atual|novo|nova|fiscal|acesso|barras|compra|produto|cliente|loja|casa|rua|endere[cç]o|em|na|para|pra|pro|n[oº]s?"
    r"|titular|comprador|respons[aá]vel|pagador|segue|abaixo|cujo|m[aã]e|pai|filh[oa]|espos[oa]|marido|mulher|irm[aã]o?"
    r"|vizinh[oa]|porteiro|portaria)\b|[nº°ª№]){0,12}"
)
"""Text allowed between a keyword and its number."""
_PLACEHOLDER: Final = re.compile(r"\[(?:cpf|cnpj|email|telefone|cep|cartao|url)\]|\]{3,}")
_CARD_AFTER: Final = re.compile(r"[ ,;(-]{0,3}(?:(?:é|eh|o|meu|no|do) ){0,3}cart[aã]o(?![^\W\d_])")
_LABEL_AFTER: Final = re.compile(
    r"[ ,;(-]{0,3}(?:(?:e|é|eh|o|meu|no|do|tel|esse|este) ){0,3}"
    r"(?:whats|zap|wpp|cel(?![^\W\d_])|celular|fone|telefone)"
)
_NEAR_BEFORE: Final = re.compile(r"[\d\]][ \t.,·•/_-]{0,2}\Z")
_NEAR_AFTER: Final = re.compile(r"[ \t.,·•/_-]{0,2}[\d\[]")
_SOME_NUMBER: Final = re.compile(r"\d{3}")
_CELL_BEFORE: Final = re.compile(r"\d{8}[,\t]\Z")
_CELL_AFTER: Final = re.compile(r"[,\t]\d{8}")
"""The next cell of a table, where a decimal comma would have fewer digits behind it."""
_GROUPS_BEFORE: Final = re.compile(r"(?:\d{4}[ .-]){1,10}\Z")
_GROUPS_AFTER: Final = re.compile(r"(?:[ .-]\d{4}){1,10}")
_GROUPS_OF_TWO_CARDS: Final = 8
_YEARS_OR_ROUND: Final = re.compile(r"(?:19|20)\d\d\D{0,3}(?:19|20)\d\d|\d\d00\D{0,3}\d\d00")
_TIMESTAMP: Final = re.compile(r"20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d[0-5]\d")
_OF_COMPANIES: Final = re.compile(r"400[34]|300[34]|4020")
_BESIDE: Final = re.compile(r"(?: ?[/,;|]| ou| e) ?\Z")
_MARKS: Final[dict[str, int]] = {"CPF": 2, "CNPJ": 3, "TELEFONE": 4, "CEP": 5, "CARTAO": 6}
_LETTER_AT: Final = re.compile(r"[^\W\d_]")
_LONG_CODE: Final = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?<![0-9a-z])(?=[0-9]{0,31}[a-f])[0-9a-f]{32}"
)
_ISSUERS: Final = {
    16: re.compile(
        r"4|5[0-8]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|35(?:2[89]|[3-8])|3841|6(?:0(?:11|4[23]|6282)|2|36|4[4-9]|5)"
    ),
    15: re.compile(r"3[47]"),
    14: re.compile(r"3(?:0[0-5]|[689])"),
}


def digits_of(text: str) -> str:
    """Return the digits of a text."""
    return "".join(sign for sign in text if "0" <= sign <= "9")


def is_cpf(number: str) -> bool:
    """Return whether 11 digits are a CPF; eleven equal digits are the example of forms, not a person's."""
    return len(number) == 11 and len(set(number)) > 1 and cpf.is_valid(number)


@lru_cache(maxsize=4_096)
def is_phone(national: str) -> bool:
    """Return whether area and number are a mobile or a landline in Brazil's plan; a mobile may lack its ninth digit."""
    import phonenumbers

    if len(national) == 10 and national[2] in "6789":
        national = f"{national[:2]}9{national[2:]}"
    kinds = {phonenumbers.PhoneNumberType.MOBILE, phonenumbers.PhoneNumberType.FIXED_LINE}
    return phonenumbers.number_type(phonenumbers.PhoneNumber(country_code=55, national_number=int(national))) in kinds


def find_numbers(text: str) -> list[Number]:
    """Find personal numbers.

    Args:
        text: In small letters, with ASCII digits, spaces and hyphens; see `tasks.curate.scrub`.

    Returns:
        Spans and kinds, in no order, none within another.
    """
    found: list[Number] = []
    if not _DIGIT.search(text):
        return found
    marks = bytearray(len(text))
    for code in _LONG_CODE.finditer(text):
        marks[code.start() : code.end()] = b"\1" * len(code[0])
    for kind, shape, test in _SEARCHES:
        for match in shape.finditer(text):
            if not any(marks[match.start() : match.end()]) and (
                span := test(match) or _second_phone(match, kind, marks)
            ):
                start, end = span
                marks[start:end] = bytes([_MARKS[kind]]) * (end - start)
                found.append((start, end, kind))
    return found


def _second_phone(match: re.Match[str], kind: NumberKind, marks: bytearray) -> Span | None:
    """Return a number without an area next to a telephone with one: `(11) 98765-4321 / 3322-4455`."""
    before = _BESIDE.search(match.string[max(match.start() - 4, 0) : match.start()]) if kind == "TELEFONE" else None
    place = match.start() - len(before[0]) - 1 if before else -1
    beside = place >= 0 and marks[place] == _MARKS["TELEFONE"]
    return match.span() if beside and _LETTER_AT.match(match.string, match.end()) is None else None


class _Around:
    """Context of a number."""

    def __init__(self, match: re.Match[str]) -> None:
        text, start, end = match.string, match.start(), match.end()
        least = max(start - _WINDOW, 0)
        for placeholder in _PLACEHOLDER.finditer(text, max(least - 10, 0), start):
            least = placeholder.end()
        before = text[least:start]
        self.label = ""
        self.leads = False
        self.labels: set[str] = set()
        for label in _LABEL.finditer(before):
            leads = _LEADS.fullmatch(before, label.end()) is not None
            if not _SOME_NUMBER.search(before, label.end()):
                self.labels.add(label.lastgroup or "")
            if label.lastgroup != "ORDER" or leads:
                self.label, self.leads = label.lastgroup or "", leads
        if not self.leads and _LABEL_AFTER.match(text, end):
            self.label, self.leads = "TELEFONE", True
        self.is_order = self.label == "ORDER"
        near_before = _NEAR_BEFORE.search(text[max(start - 3, 0) : start])
        near_after = _NEAR_AFTER.match(text, end)
        is_cell_before = near_before and _CELL_BEFORE.search(text[max(start - 9, 0) : start])
        is_cell_after = near_after and _CELL_AFTER.match(text, end)
        self.is_alone = (not near_before or bool(is_cell_before)) and (not near_after or bool(is_cell_after))
        glued = bool(before and _LETTER_AT.match(before[-1])) and not (self.label not in {"", "ORDER"} and self.leads)
        self.is_glued = glued or _LETTER_AT.match(text, end) is not None


def _find_cpf(match: re.Match[str]) -> Span | None:
    number = digits_of(match[0])
    if not is_cpf(number):
        return None
    around = _Around(match)
    if "." in match[0] or "-" in match[0] or "/" in match[0]:
        return match.span()
    is_dialled = match[0].isdigit() and around.label == "TELEFONE" and is_phone(number)
    if around.is_glued or is_dialled or (around.is_order and "CPF" not in around.labels):
        return None
    return match.span() if around.is_alone or around.label == "CPF" else None


def _find_cpf_apart(match: re.Match[str]) -> Span | None:
    if not is_cpf(digits_of(match[0])):
        return None
    around = _Around(match)
    return match.span() if around.label == "CPF" and around.leads else None


def _find_cnpj(match: re.Match[str]) -> Span | None:
    number = digits_of(match[0])
    if len(set(number)) == 1 or not cnpj.is_valid(number):
        return None
    if "/" in match[0] or "-" in match[0]:
        return match.span()
    around = _Around(match)
    if around.label == "CNPJ" or "CNPJ" in around.labels:
        return match.span()
    refused = around.is_order or around.is_glued or not around.is_alone or _TIMESTAMP.fullmatch(number)
    return None if refused else match.span()


def _find_cnpj_with_letters(match: re.Match[str]) -> Span | None:
    number = "".join(filter(str.isalnum, match[0])).upper()
    if number.isdigit() or not cnpj.is_valid(number):
        return None
    if "/" in match[0] or (number[8:12].isdigit() and ("-" in match[0] or "." in match[0])):
        return match.span()
    around = _Around(match)
    if around.label == "CNPJ":
        return match.span() if any(map(str.isdigit, number[:12])) else None
    return match.span() if number[8:12] == "0001" and " " not in match[0] and not around.is_order else None


def _find_card(match: re.Match[str]) -> Span | None:
    number, text = digits_of(match[0]), match.string
    if not _is_card(number):
        return None
    # The access key of an invoice is printed in eleven groups of four.
    before = _GROUPS_BEFORE.search(text[max(match.start() - 50, 0) : match.start()])
    after = _GROUPS_AFTER.match(text, match.end())
    if sum(len(run[0]) // 5 for run in (before, after) if run) + 4 > _GROUPS_OF_TWO_CARDS:
        return None
    around = _Around(match)
    is_other = around.is_order or around.is_glued or (around.label == "CNPJ" and cnpj.is_valid(number))
    return None if match[0].isdigit() and is_other else match.span()


def _is_card(number: str) -> bool:
    issuer = _ISSUERS.get(len(number))
    return issuer is not None and issuer.match(number) is not None and len(set(number)) > 1 and luhn.is_valid(number)


def _find_card_apart(match: re.Match[str]) -> Span | None:
    if not _is_card(digits_of(match[0])):
        return None
    around = _Around(match)
    leads = around.label == "CARTAO" and around.leads
    is_named = leads or _CARD_AFTER.match(match.string, match.end()) is not None
    return match.span() if is_named and not around.is_glued else None


def _find_phone(match: re.Match[str]) -> Span | None:
    national = digits_of(match["area"]) + digits_of(match["number"])
    if not is_phone(national):
        return None
    around = _Around(match)
    if "(" in match["area"] or "[" in match["area"] or ")" in match["area"] or match[0].startswith("+"):
        return _with_bracket(match)
    if around.is_order or around.is_glued:
        return None
    is_mobile = len(national) == 11
    if around.label == "TELEFONE" or (match["country"] and is_mobile):
        return _with_bracket(match)
    if not around.is_alone or (
        not is_mobile and ("-" not in match["number"] or _YEARS_OR_ROUND.fullmatch(match["number"]))
    ):
        return None
    return _with_bracket(match)


def _with_bracket(match: re.Match[str]) -> Span:
    """Return the span of a telephone, with the bracket before its area if the area closes one."""
    start, area = match.start(), match["area"]
    opens = (area[-1] in ")]") and "(" not in match[0] and "[" not in match[0]
    return (start - 1 if opens and start and match.string[start - 1] in "([" else start), match.end()


def _find_phone_apart(match: re.Match[str]) -> Span | None:
    area, number = digits_of(match["area"] or "").removeprefix("0"), digits_of(match["number"])
    around = _Around(match)
    is_mobile = len(number) == 9
    is_whole = is_phone(area + number) if area else is_mobile
    if not is_whole or around.is_order or around.is_glued or not around.is_alone:
        return None
    if around.label == "TELEFONE" and around.leads:
        return match.span()
    is_marked = match[0][0] in "+([" or (is_mobile and "-" in match[0][-6:])
    return match.span() if area and is_marked and len(_GROUPS.findall(match[0])) <= _MOST_GROUPS else None


def _find_local_phone(match: re.Match[str]) -> Span | None:
    number = digits_of(match[0])
    around = _Around(match)
    if around.is_order or around.is_glued or not around.is_alone or _OF_COMPANIES.match(number):
        return None
    if around.label == "TELEFONE" and around.leads:
        return match.span()
    return match.span() if len(number) == 9 and "-" in match[0][-6:] and number[1] in "6789" else None


def _find_cep(match: re.Match[str]) -> Span | None:
    around = _Around(match)
    if around.is_order or around.is_glued or digits_of(match[0]) < "01000000":
        return None
    if around.label == "CEP" and (around.leads or not match[0].isdigit()):
        return match.span()
    if around.is_alone and _CEP_ALONE.fullmatch(match[0]):
        return match.span()
    return match.span() if _is_in_address(match) and not (around.leads and around.label != "CEP") else None


def _is_in_address(match: re.Match[str]) -> bool:
    """Return whether a number stands in a CEP's position: behind a street and a comma, or right before a city."""
    text, start = match.string, match.start()
    if not _CEP_IN_ADDRESS.fullmatch(match[0]) or _NEAR_AFTER.match(text, match.end()):
        return False
    least = max(start - _ADDRESS_WINDOW, 0)
    for placeholder in _PLACEHOLDER.finditer(text, max(least - 10, 0), start):
        least = placeholder.end()
    before = text[least:start]
    if _PLACE_AFTER.match(text, match.end()) and _SENTENCE.search(before):
        return True
    return _STREET.search(before) is not None and _AS_IN_ADDRESS.search(before) is not None


_SEARCHES: Final[tuple[tuple[NumberKind, re.Pattern[str], Callable[[re.Match[str]], Span | None]], ...]] = (
    ("CARTAO", _CARD, _find_card),
    ("CARTAO", _CARD_APART, _find_card_apart),
    ("CNPJ", _CNPJ, _find_cnpj),
    ("CNPJ", _CNPJ_WITH_LETTERS, _find_cnpj_with_letters),
    ("CPF", _CPF, _find_cpf),
    ("CPF", _CPF_APART, _find_cpf_apart),
    ("TELEFONE", _PHONE, _find_phone),
    ("TELEFONE", _PHONE_APART, _find_phone_apart),
    ("CEP", _CEP, _find_cep),
    ("TELEFONE", _LOCAL_PHONE, _find_local_phone),
)
