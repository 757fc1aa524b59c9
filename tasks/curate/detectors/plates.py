"""Licence plates, old (`ABC-1234`) and Mercosul (`ABC1D23`), near a word for a vehicle.

Three letters and four digits are product codes as well: without such a word they stay, and so do video cards.
"""

import re
from typing import Final

from tasks.curate.detectors.context import LABEL_START, LEAD, PLACEHOLDER, Around, Search, Span

_WINDOW: Final = 60
_AFTERWARDS: Final = 30
_SHAPE: Final = r"(?<![^\W_])(?P<value>[a-z]{3}[ .·•_/-]{0,3}\d[a-z\d]\d{2})(?![^\W_]|[-.]\d)"
_MERCOSUL: Final = re.compile(r"[a-z]{3}\d[a-z]\d{2}")
_YEAR: Final = re.compile(r"(?:(?:19|20)\d\d|\d[05]0)\Z")
_BESIDE: Final = re.compile(r" (?:branc[oa]|pret[oa]|prata|vermelh[oa]|azul|cinza|verde)? ?")
_PLATE: Final = re.compile(_SHAPE)
_LABELLED: Final = re.compile(
    rf"{LABEL_START}placas?(?! m[aã]e)(?: (?:d[oa]|de)(?: meu| minha| nosso| nossa)?"
    r" (?:carro|moto|ve[ií]culo|autom[oó]vel|caminh[aã]o|caminhonete|van|entregador|motoboy|motorista|uber))?"
    rf"(?![^\W\d_]){LEAD}{_SHAPE}"
)
_SECOND: Final = re.compile(rf"\[placa\](?: ?[,/;] ?| e | ou ){_SHAPE}")
_APART: Final = re.compile(
    rf"{LABEL_START}placas?(?: do carro"
    rf"| da moto)?(?: é)?[ :.-]{{1,3}}(?P<value>[a-z](?:[ .-]?[a-z]){{2}}[ .-]{{1,3}}\d[ .-]?[a-z\d](?:["
    rf" .-]?\d){{2}})(?![^\W_])"
)
_AFTER: Final = re.compile(
    r"[ ,;(:-]{0,3}(?:(?:é|eh|e|a|essa|esta|minha) ){0,4}placas?(?![^\W\d_])(?! d[ea] v| m[aã]e)"
)
_VEHICLE: Final = re.compile(
    r"(?<![^\W\d_])(?:(?P<VEHICLE>placas?(?! ?-?(?:m[aã]e|de v[ií]deo|gr[aá]fica|de rede|de som|solar|de led"
    r"|l[oó]gica|de a[cç]o"
    r"|de mdf|de gesso|principal|eletr[oô]nica))|carros?|motos?|motoca|ve[ií]culos?|autom[oó]ve(?:l|is)|caminh[aã]o"
    r"|caminhonete|camionete|van|kombi|fiorino|furg[aã]o|motoboy|entregador|mercosul|renavam|emplacad[oa]|detran"
    r"|ipva|multas?|estacion\w{1,8}"
    r"|garagem|motorista|uber|gol|uno|palio|onix|hb20|civic|corolla|fiesta|strada|saveiro|celta|corsa|fusca"
    r"|sandero|kwid"
    r"|honda|fiat|toyota|volkswagen|vw|chevrolet|ford|renault|hyundai|jeep|peugeot|citroen|nissan|titan|biz|scooter)"
    r"|(?P<OTHER>modelo|mod|c[oó]d(?:igo)?|ref(?:er[eê]ncia)?|sku|produto|pe[cç]a|pedido|cupom|rastreio|item|s[eé]rie"
    r"|lote|processador|ssd|mem[oó]ria|monitor|voucher|protocolo))(?![^\W\d_])"
)
_NO_PLATES: Final = re.compile(
    r"gtx|rtx|atx|ddr|ssd|ram|usb|led|cbr|nxr|xre|ybr|xtz|ano|at[eé]|cep|c[oó]d|com|cpf|dez|dia|d[ao]s|m[eê]s|mil"
    r"|mod|n[ao]s"
    r"|num|nro|n[aã]o|por|pra|que|ref|rua|sem|tam|tel|uma|via"
)
"""Three letters that are a product's or a word's: `placa gtx1660`, `dia 1234`."""


def _find_labelled(match: re.Match[str]) -> Span | None:
    return None if _NO_PLATES.match(match["value"]) else match.span("value")


def _find_near(match: re.Match[str]) -> Span | None:
    if _NO_PLATES.match(match["value"]):
        return None
    if _AFTER.match(match.string, match.end()):
        return match.span("value")
    least = max(match.start() - _WINDOW, 0)
    for placeholder in PLACEHOLDER.finditer(match.string, max(least - 12, 0), match.start()):
        least = placeholder.end()
    nearest = max(_VEHICLE.finditer(match.string, least, match.start()), key=re.Match.start, default=None)
    if nearest is None:
        nearest = _VEHICLE.search(PLACEHOLDER.split(match.string[match.end() : match.end() + _AFTERWARDS])[0])
    if nearest is None or nearest.lastgroup != "VEHICLE" or Around(match).is_order:
        return None
    compact = "".join(filter(str.isalnum, match[0]))
    is_beside = _BESIDE.fullmatch(match.string, nearest.end(), match.start()) is not None
    is_old = ("-" in match[0] or nearest[0].startswith("placa") or is_beside) and not _YEAR.search(compact)
    return match.span("value") if is_old or _MERCOSUL.fullmatch(compact) else None


SEARCHES: Final[tuple[Search, ...]] = (
    Search("PLACA", _LABELLED, _find_labelled, ("placa",)),
    Search("PLACA", _APART, _find_labelled, ("placa",)),
    Search("PLACA", _PLATE, _find_near),
    Search("PLACA", _SECOND, _find_labelled, ("[placa]",)),
)
