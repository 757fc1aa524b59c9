"""Words around a number that decide between its possible kinds."""

import re
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, get_args

Kind = Literal[
    "CPF", "CNPJ", "EMAIL", "TELEFONE", "CEP", "CARTAO", "URL", "RG", "CNH", "PIS", "TITULO", "PLACA", "NASCIMENTO",
    "CVV", "PIX", "PERFIL",
]  # fmt: skip
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Span = tuple[int, int]
Found = tuple[int, int, Kind]


class Search(NamedTuple):
    """Search for the values of a kind."""

    kind: Kind
    shape: re.Pattern[str]
    """Pattern of the value, or of its surroundings with the value in a group of that name."""
    test: Callable[[re.Match[str]], Span | None]
    """Returns the value's span in a match of the shape, or None."""
    cues: tuple[str, ...] = ()
    """Parts of words of which one is in each match: a text without them need not be searched."""


_WINDOW: Final = 48
"""Characters before a number that are searched for a keyword."""
EDGE: Final = r"(?<!\d)"
"""A number begins here."""
_LABEL: Final = re.compile(
    r"(?<![^\W\d_])(?:(?P<CPF>c\.?p\.?f)|(?P<CNPJ>c\.?n\.?p\.?j|cgc)|(?P<CEP>c\.?e\.?p|(?:c[oó]d(?:igo)?\.? )?postal)"
    r"|(?P<CARTAO>cart[aã]o|cart[oõ]es|cr[eé]dito|d[eé]bito|visa|master(?:card)?|amex|elo|hipercard|diners)"
    r"|(?P<TELEFONE>te?le?f\w{1,7}|tell?s?|fones?|cel(?:u\w{0,6})?|(?!watts?\b)[wu][hat]{1,4}'?s\w{0,6}|wpp?|zap\w{0,5}"
    r"|[ft](?= ?[:.])"
    r"|fn|tf|tent(?:a|e|em|ar)(?= n?o )|lig(?:a|o|ar|ado|ou|ue|uem|am|uei|ando|a[cç][aã]o)|contatos?|contact\w{0,3}"
    r"|chama(?!d[oa])\w{0,3}|cham[eo]\w{0,2}"
    r"|fal(?:a|ar|e|em|o)|ddd(?:[ :(]{0,2}\d\d\)?(?!\d))?|sms|recados?|ramal|fixo|res(?:id[eê]nci\w{1,2})?"
    r"|dis[cq]\w{1,3}|phone|mobile|(?<![.\w])com\.(?= ?[(]?\Z)|(?:meu|outro|este|esse|seu) (?:n[uú]m(?:ero)?|nro"
    r"|n[º°])(?! d[aeo]s?(?!\w))|n[uú]mero (?:del[ea]|d[ao]"
    r" (?:vizinh[oa]|m[aã]e|pai|entregador|motoboy|porteiro|portaria|espos[oa]|marido|filh[oa]|minha|meu))"
    r"|toque|al[oô]|retorn\w{1,3}|avis(?:a|ar|em?)|mensage[mn]s?|msg|atend(?:e|o|em|emos)|portaria|tratar"
    r"|respond\w{1,3}|(?:em|de|minha|nossa) casa|anot(?:a|e|em)|me add?|adicion\w{1,3}|atte?|dona|d[uú]vidas?"
    r"|escrit[oó]rio|oficina|consult[oó]rio|vizinh[oa]|linha fixa|daqui|recep[cç][aã]o|caixa postal|(?:outro|segundo"
    r"|novo) n[uú]mero|n[uú]mero novo|me encontr\w{1,3}|aguardo|comigo|procur\w{1,3}|q(?:ual)?q(?:uer)? coisa|operadora"
    r"|(?:vivo|claro|tim|oi)(?= (?:é )?[(]?\Z| ?:)|(?:troque\w|mud\w{1,3}|cadastr\w{1,3}) (?:de|o|meu) n[uú]mero"
    r"|(?:casa|trabalho|espos[oa]|marido|m[aã]e|pai|filh[oa]|irm[aã]o?|cunhad[oa]|sogr[oa])(?= ?:| [(]?\Z)"
    r"|(?:mand|envi|pass|troc|alter)\w{1,3}(?: [^\W\d_]{2,12}){0,2} (?:no|pro|para|pra|ao)(?= \Z)|[eé] esse(?= \Z)"
    r"|motoboy|[☎📞📱📲])"
    r"|(?P<ORDER>pedidos?|ordem|ordens|order|compra|protocolos?|c[oó]d(?:igos?)?|notas?|fiscal|nfs?|nf-?e|danfe"
    r"|rastreio"
    r"|rastreamento|rastrear|objeto|encomenda|chave|acesso|ean|gtin|sku|ref|refer[eê]ncia|s[eé]rie|lote|imei|boleto"
    r"|contrato"
    r"|processo|id|ticket|chamado|atendimento|isbn|barras|ncm|modelo|item|transa[cç][aã]o|fatura|nsu|cupom|voucher|sac"
    r"|arquivo|matr[ií]cula|nosso n[uú]mero))(?![^\W\d_])"
)
LEADS: Final = re.compile(
    r"(?:[^\w\n]|\n(?=[ (+-]{0,3}\Z)|\b[1-3](?= ?[:)-])|\b(?:n|no|nr|nro|num|n[uú]mero|de|do|da|dos|das|e|eh|é|o|a|os"
    r"|as|foi|era|meu|minha|seu|com|esse|este|aqui"
    r"|atual|novo|nova|fiscal|acesso|barras|compra|produto|cliente|loja|casa|rua|endere[cç]o|em|na|para|pra|pro|n[oº]s?"
    r"|titular|comprador|respons[aá]vel|pagador|segue|abaixo|cujo|m[aã]e|pai|filh[oa]|espos[oa]|marido|mulher|irm[aã]o?"
    r"|vizinh[oa]|porteiro|portaria)\b|[nº°ª№]){0,12}"
)
"""Text allowed between a keyword and its number."""
_LEADS_TO_A_PHONE: Final = re.compile(
    r"(?:(?:[^\w\n]{1,5}|[^\w\n]{0,3}\n ?(?=[^\W\d_]{2,15}(?: [^\W\d_]{2,15})?[:>]))(?!pedid|protoc|produt|mercad"
    r"|c[oó]d|cep|val|pre[cç]o|total|tam|medid|conta(?!to)|contr|ag[eê]n|rg|cnh|pis|nis|t[ií]t"
    r"|ident|cart|placa|apt|bloco|rua|r\$|pe[cç]a|ref|mod|erro|norm|compr|sem|chat|lote|s[eé]rie|caixa|autom"
    r"|capa)[^\W\d_]{1,14}){0,5}[^\w\n]{0,5}"
)
"""A few words of any kind, also of the one who answers: `qual o telefone?`, `Cliente: é o 3322-4455`."""
PLACEHOLDER: Final = re.compile(rf"\[(?:{'|'.join(KINDS).lower()})\]|\]{{3,}}")
"""A kind that was replaced, or the filler of an address; what is before it says nothing of a later number."""
AFTERWARDS: Final = (
    r"(?:[ ,;-]{1,3}(?:é|eh|e|foi|seria) (?:(?:o|a|meu|minha|n[uú]mero|num|n[º°]|d[aoe]|dele|dela|esse|este|essa"
    r"|esta) ){0,5}| (?:é |eh )?(?:[oa] )?(?:n[uú]mero |registro )?(?:d[ao]|na|no) (?:minha |meu |sua |seu )?"
    r"| ?[(\[-] ?(?:(?:meu|minha|n[uú]mero|n[º°]|d[aoe]) ){0,3})"
)
"""Text between a value and its label behind it: `12.345.678-9 é o meu RG`, `12.345.678-9 (RG)`."""
LABEL_START: Final = r"(?<![^\W\d_])(?<!\[)"
"""No letter before a label, and no bracket: that of a placeholder is none."""
LEAD: Final = (
    r"(?:\((?:[^()\d\n]|\d d[ií]g|\d n[uú]m){2,30}\)|[^\w\n]|\n[ \t]{0,2}(?:[^\W\d_]{2,15}(?: [^\W\d_]{2,15})?[:>])?"
    r"|\b(?:n|nr|nro|num|n[uú]m(?:ero)?s?|n[oº]s?|de|d[oa]s?|e|é|eh|[oa]s?|meu|minha|seu"
    r"|sua|del[ea]|que|foi|era|com|[aà]|cliente|titular|comprador|compradora|m[aã]e|pai|filh[oa]|beb[eê]|marido"
    r"|espos[oa]"
    r"|mulher|irm[aã]o?|av[oó]|vov[oó]|certo|correto|certa|correta|atual|novo|nova|velho|antigo|abaixo|segue|seria"
    r"|est[aá]|[eé]sse|este|essa|esta|aqui|anota|a[ií]|sob|registro|inscri[cç][aã]o|documento|doc|final|na|em|dia"
    r"|data|pra|para"
    r"|tamb[eé]m|como|nome|era|resposta|resp|por favor|favor|gentileza|d|meus|dados|mf|ssp|s[aã]o|sao|fica|ficou|tem"
    r"|termina|digital|f[ií]sica|emitida|vencida"
    r"|v[aá]lida|impresso|impressa|digitei|informei|coloquei|cadastrado|cadastrada|cadastrei|consta|saiu|t[aá]"
    r")\b|[nº°ª№]){0,16}+"
)
"""Text between a label and its value, which may be an answer, or behind a remark: `CVV (3 dígitos): 123`."""
_LABEL_AFTER: Final = re.compile(
    r"[ ,;(-]{0,3}(?:(?:e|é|eh|o|meu|no|do|tel|esse|este|me|podem?|s[oó]) ){0,4}"
    r"(?:(?:whats|zap|wpp|celular|fone|telefone|fixo)|(?:cel|tel|lig(?:a|ar|ou|ue|uem)|cham(?:a|ar|e|em)|falar com"
    r"|(?<=meu )n[uú]mero(?! d[eo] )|n[uú]mero (?:del[ea]|d[ao] (?:minha|meu) (?:m[aã]e|pai|filh|espos|marido|vizinh"
    r"|irm)\w{0,2}))(?![^\W\d_]))"
)
_NEAR_BEFORE: Final = re.compile(r"[\d\]][ \t.,·•/_-]{0,2}\Z")
NEAR_AFTER: Final = re.compile(r"[ \t.,·•/_-]{0,2}[\d\[]")
_SOME_NUMBER: Final = re.compile(r"\d{3}")
_CELL_BEFORE: Final = re.compile(r"\d{8}[,\t]\Z")
_CELL_AFTER: Final = re.compile(r"[,\t]\d{8}")
"""The next cell of a table, where a decimal comma would have fewer digits behind it."""
LETTER_AT: Final = re.compile(r"[^\W\d_]")


def holds_any(text: str, cues: tuple[str, ...]) -> bool:
    """Return whether a text holds one of some words: a fast test before a search that needs one."""
    return any(cue in text for cue in cues)


def digits_of(text: str) -> str:
    """Return the digits of a text."""
    return "".join(sign for sign in text if "0" <= sign <= "9")


class Around:
    """Context of a number."""

    def __init__(self, match: re.Match[str]) -> None:
        text, start, end = match.string, match.start(), match.end()
        least = max(start - _WINDOW, 0)
        for placeholder in PLACEHOLDER.finditer(text, max(least - 10, 0), start):
            least = placeholder.end()
        before = text[least:start]
        self.label = ""
        self.leads = self.is_near = False
        self.labels: set[str] = set()
        for label in _LABEL.finditer(before):
            leads = LEADS.fullmatch(before, label.end()) is not None
            if not _SOME_NUMBER.search(before, label.end()):
                self.labels.add(label.lastgroup or "")
            if label.lastgroup != "ORDER" or leads:
                is_far = label.lastgroup == "TELEFONE" and _LEADS_TO_A_PHONE.fullmatch(before, label.end()) is not None
                self.label, self.leads, self.is_near = label.lastgroup or "", leads or is_far, leads
        if not self.leads and _LABEL_AFTER.match(text, end):
            self.label, self.leads, self.is_near = "TELEFONE", True, True
        self.is_order = self.label == "ORDER"
        near_before = _NEAR_BEFORE.search(text[max(start - 3, 0) : start])
        near_after = NEAR_AFTER.match(text, end)
        is_cell_before = near_before and _CELL_BEFORE.search(text[max(start - 9, 0) : start])
        is_cell_after = near_after and _CELL_AFTER.match(text, end)
        self.is_alone = (not near_before or bool(is_cell_before)) and (not near_after or bool(is_cell_after))
        glued = bool(before and LETTER_AT.match(before[-1])) and not (self.label not in {"", "ORDER"} and self.leads)
        self.is_glued = glued or LETTER_AT.match(text, end) is not None
