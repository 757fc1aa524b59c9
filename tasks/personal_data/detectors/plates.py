"""Licence plates, old (`ABC-1234`) and Mercosul (`ABC1D23`), near a word for a vehicle.

Three letters and four digits are product codes as well: without such a word they stay, and so do video cards and parts
of cars. The Mercosul form is seldom another thing's, so that a word at some distance will do.
"""

import re
from typing import Final

from tasks.personal_data.detectors.context import LABEL_START, LEAD, PLACEHOLDER, Around, Search, Span

_WINDOW: Final = 60
_AFTERWARDS: Final = 30
_SHAPE: Final = r"(?<![^\W_])(?P<value>[a-z]{3}[ .·•_/-]{0,3}\d[a-z\d]\d{2})(?![^\W_]|[-.]\d)"
_MERCOSUL: Final = re.compile(r"[a-z]{3}\d[a-z]\d{2}")
_YEAR: Final = re.compile(r"(?:(?:19|20)\d\d|\d[05]0)\Z")
_PLATE: Final = re.compile(_SHAPE)
_CARS: Final = (
    r"carros?|motos?|motoca|motocicleta|ve[ií]c(?:ulos?|\.)|autom[oó]ve(?:l|is)|caminh(?:[aã]o(?:zinho)?|[oõ]es)"
    r"|caminhonete|camionete|carreta"
    r"|ba[uú]|reboque|[oô]nibus|van|kombi|fiorino|furg[aã]o|picape|pickup|gol|uno|palio|onix|hb20s?|civic|corolla"
    r"|fiesta|strada|saveiro"
    r"|celta|corsa|fusca|sandero|logan|kwid|voyage|ka|ecosport|argo|mobi|cronos|toro|siena|doblo|ducato|sprinter"
    r"|master|duster|creta"
    r"|tracker|compass|renegade|hilux|ranger|s10|spin|cobalt|prisma|astra|vectra|monza|polo|fox|jetta|golf|yaris|etios"
    r"|fit|city"
    r"|honda|fiat|toyota|volkswagen|vw|chevrolet|gm|ford|renault|hyundai|jeep|peugeot|citroen|nissan|yamaha|suzuki|kia"
    r"|chery|byd|guincho|trailer|t[aá]xi|titan|biz|scooter|cg|fan|bros|fazer|pop|nmax|pcx|hornet|xre|cb|twister"
)
_OF_A_THING: Final = (
    r"(?: ?-?(?:m[aã]e|gr[aá]fica|solar|l[oó]gica|principal|eletr[oô]nica|wi-?fi|indicativa|decorativa)"
    r"| d[eoa] (?:v[ií]deo|rede|som|led"
    r"|a[cç]o|mdf|gesso|captura|expans|pot[eê]ncia|circuito|fonte|controle|comando|[aá]udio|tv|fog|geladeira|lavadora"
    r"|m[aá]quina"
    r"|micro|ar|forno|note|pc|computador|display|madeira|vidro|indu|drywall|ident|sinal|aviso|eva|isopor|acr[ií]lico))"
)
_LABEL: Final = rf"{LABEL_START}(?:pla[ck]as?|plca)(?!{_OF_A_THING})(?![^\W\d_])"
_LABELLED: Final = re.compile(
    rf"{_LABEL}(?: (?:d[oa]|de)(?: meu| minha| nosso| nossa)? [^\W\d_]{{2,14}}){{0,3}}{LEAD}(?<![^\W_])"
    r"(?P<value>[a-z]{3}[ .·•_/-]{0,3}\d[a-z\d][\doil]{2})(?![^\W_]|[-.]\d)"
)
_SECOND: Final = re.compile(rf"\[placa\](?: ?[,/;] ?| e | ou ){_SHAPE}")
_LETTER: Final = (
    r"(?:[a-z]|b[eê]|c[eê]|d[eê]|efe|g[eê]|ag[aá]|jota|k[aá]|ele|eme|ene|p[eê]|qu[eê]|erre|esse|t[eê]|v[eê]"
    r"|d[aá]bli[ou]|xis|[ií]psilon|z[eê])"
)
_DIGIT: Final = r"(?:\d|zero|um|dois|tr[eê]s|quatro|cinco|seis|meia|sete|oito|nove)"
_APART: Final = re.compile(
    rf"{_LABEL}(?: d[oa] [^\W\d_]{{2,14}})?(?: é| eh"
    rf"| era)?[ :.-]{{1,3}}(?:letras? )?(?P<value>{_LETTER}(?:[ .,-]{{0,2}}{_LETTER}){{2}}"
    rf"(?:[ .,-]{{0,3}}| (?:e )?n[uú]meros? ){_DIGIT}[ .,-]{{0,2}}(?:{_DIGIT}"
    rf"|{_LETTER})(?:[ .,-]{{0,2}}{_DIGIT}){{2}})(?![^\W_])"
)
_AFTER: Final = re.compile(
    rf"[ ,;(:-]{{0,3}}(?:(?:é|eh|e|a|essa|esta|minha) ){{0,4}}placas?(?![^\W\d_])(?! d[ea] v|{_OF_A_THING})"
)
_NEAR: Final = re.compile(
    rf"(?<![^\W\d_])(?:(?P<PART>(?:{_CARS}) de (?:controle|beb|brinq|pedal|boneca|mini|feira|m[aã]o)\w*|(?:som"
    rf"|r[aá]dio|filtro|[oó]leo"
    r"|bateria|l[aâ]mpada|farol|pe[cç]a|bomba|sensor|capa|suporte|motor|multim[ií]dia|alarme|pneu) (?:d[oa]|de|pr[ao]"
    r"|para|p/) ?(?:[oa] )?(?:meu |minha )?(?:carro|moto|ve[ií]culo))"
    rf"|(?P<VEHICLE>placas?(?!{_OF_A_THING})|{_CARS}|motoboy|motoqueiro|entregador|condutor|mercosul|renavam"
    rf"|emplaca\w{{2,5}}|detran|licenciamento"
    r"|ipva|multas?|estacion\w{1,8}|garagem|motorista|uber|(?:n|pel)as? c[aâ]meras?|anot(?:ei|ou|ad[oa])|portaria"
    r"|porteiro(?! ele))"
    r"|(?P<OTHER>placas?|modelo|mod|c[oó]d(?:igo)?|ref(?:er[eê]ncia)?|sku|produto|pe[cç]a|pedido|cupom|rastreio|item"
    r"|s[eé]rie|lote|processador|ssd|mem[oó]ria|monitor|voucher|protocolo))(?![^\W\d_])"
)
_BESIDE: Final = re.compile(
    r"[ ,(:-]{0,3}(?:(?:branc[oa]|pret[oa]|prata|vermelh[oa]|azul|cinza|verde|velh[oa]|nov[oa]|ba[uú]|(?:19|20)\d\d"
    r"|\d{2,3}|d[aeo]s? (?:transportadora|entrega\w*|empresa|loja)|que|é|eh|era)[ ,(:-]{1,3}){0,3}"
)
_PRODUCTS: Final = re.compile(r"gtx|rtx|atx|ddr|ssd|usb|led|cbr|nxr|xre|ybr|xtz")
_WORDS: Final = re.compile(
    r"(?:ano|at[eé]|cep|c[oó]d|com|cpf|dez|dia|d[ao]s|m[eê]s|mil|mod|n[ao]s|num|nro|n[aã]o|por|pra|que|ram|ref|rua|sem"
    r"|tam|tel|uma|via) "
)
"""Three letters that are a product's or a word's: `placa gtx1660`, `dia 1234`."""


def _is_no_plate(value: str) -> bool:
    return _PRODUCTS.match(value) is not None or _WORDS.match(value) is not None


def _find_labelled(match: re.Match[str]) -> Span | None:
    return None if _is_no_plate(match["value"]) else match.span("value")


def _find_near(match: re.Match[str]) -> Span | None:
    if _is_no_plate(match["value"]):
        return None
    if _AFTER.match(match.string, match.end()):
        return match.span("value")
    least = max(match.start() - _WINDOW, 0)
    for placeholder in PLACEHOLDER.finditer(match.string, max(least - 12, 0), match.start()):
        least = placeholder.end()
    words = list(_NEAR.finditer(match.string, least, match.start()))
    nearest = words[-1] if words else None
    if nearest is None:
        nearest = _NEAR.search(PLACEHOLDER.split(match.string[match.end() : match.end() + _AFTERWARDS])[0])
    if nearest is None or nearest.lastgroup == "OTHER" or Around(match).is_order:
        return None
    compact = "".join(filter(str.isalnum, match[0]))
    if _MERCOSUL.fullmatch(compact):
        return match.span("value")
    is_named = any(word[0].startswith("placa") for word in (*words, nearest))
    is_beside = is_named or _BESIDE.fullmatch(match.string, nearest.end(), match.start())
    is_old = nearest.lastgroup == "VEHICLE" and ("-" in match[0] or is_beside) and not _YEAR.search(compact)
    return match.span("value") if is_old else None


SEARCHES_IN_WORDS: Final[tuple[Search, ...]] = (Search("PLACA", _APART, _find_labelled, ("pla", "plca")),)
SEARCHES: Final[tuple[Search, ...]] = (
    Search("PLACA", _LABELLED, _find_labelled, ("pla", "plca")),
    *SEARCHES_IN_WORDS,
    Search("PLACA", _PLATE, _find_near),
    Search("PLACA", _SECOND, _find_labelled, ("[placa]",)),
)
