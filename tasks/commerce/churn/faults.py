"""Faults of a reason that stand beside its claims: what no line of a profile can bear, whatever the words.

Each is a frame: a word that leads to it (`word_notes`), and a pattern around it. Most texts hold no such word.
"""

import re
from collections.abc import Sequence
from typing import Final

from tasks.commerce.churn.claims import TAKEN, Read
from tasks.commerce.churn.shopper import ProfiledShopper
from tasks.commerce.churn.word_notes import ADVISED, FRAMES, HARMLESS
from tasks.commerce.text.vocabulary import CLOSED_CLASS

SAME_RATING: Final = 0.05
"""Difference of the last rating and the mean up to which neither is higher."""
_CLAUSES: Final = re.compile(r" [.,] | e (?!e )| mas | porem | porque | pois ")
_SHOP_ACTS: Final = re.compile(
    r"(?:^|[.,] |(?<![a-z])(?:e|que|porque|pois|mas) )(?:a|nossa|esta|essa) loja(?: nao| ja| so| nunca| nos)* ([a-z]+)"
)
_SHOP_MAY: Final = CLOSED_CLASS | {"pode", "deve", "precisa"}
_OTHERS: Final = re.compile(
    # Behind a blank, which is found faster than any other beginning of a word.
    r" (?:outr[oa]s? (?:loj|sit|marc|lugar|empres|vended|fornec|plataform|canal|cana|client|pesso|consumid|"
    r"comprad)[a-z]*|(?:outr[oa]s|demais) (?=[.,]|fa[cz]|compr|gast|tem|cost|volt)|"
    r"(?:maioria|media|resto|metade|padrao|normal) (?:d[oa]s?|entre [oa]s) (?:(?:noss[oa]s|seus|outr[oa]s|demais) )?"
    r"(?:client[a-z]*s|consumid[a-z]*s|comprad[a-z]*s|pessoas|loja|estado|regiao|categoria|base|carteira|mercado|"
    r"setor|pais|publico|gente)|(?:entre|como|que|quanto) (?:[oa]s|muit[oa]s|tod[oa]|tod[oa]s [oa]s|qualquer|"
    r"quase tod[oa]s?(?: [oa]s)?) (?:outr[oa]s|demais|client[a-z]*|consumid[a-z]*|comprad[a-z]*|pessoas))(?![a-z])"
)
_ADVICE: Final = re.compile(
    r"(?<![a-z])(nao )?(?:convem|cabe|vale|compensa|melhor|basta|recomend[a-z]+|sugiro|sugerimos|aconselh[a-z]+|"
    r"(?:e|seria|sera|fica) (?:bom|preciso|hora de|necessario|importante|recomendavel|prudente|urgente|aconselhavel)|"
    r"(?:precisamos|devemos|podemos|vamos|deve-se|temos (?:de|que)|tem que|ha que|hora de))"
    r"(?: se| a pena| so| apenas| tambem| ja| de| que| ao menos| logo| agora| entao| ,)*( nao| nem| sem)?"
    r" ([a-z]+[aei]r)(?![a-z])"
)
_PURPOSE: Final = re.compile(
    r"(?<![a-z])(?:compr|pediu|gast|volt)[a-z]* (?:so |apenas |somente |tudo )?(?:para|pra) ([a-z]+)"
)
_CAUSE: Final = re.compile(
    r"(?<![a-z])(?:porque|pois|ja que|visto que|uma vez que|por causa d[aeo]s?|devido aos?|devido a|em razao d[aeo]s?|"
    r"por conta d[aeo]s?|gracas aos?|por ser|por ter|por estar|"
    r"(?P<so>por isso|por isto|portanto|por conseguinte))(?![a-z])"
)
_CHANGE: Final = re.compile(
    r"(?<![a-z])(?:(?P<up>aument[a-z]+|cresc[a-z]+|subi[a-z]*|sobem?|melhor(?:ou|a|am|aram|ando)|ascen[a-z]+|"
    r"ampli[a-z]+|evolu[a-z]+)|(?P<down>diminu[a-z]+|cai|caiu|caem|caindo|cairam|cair|quedas?|reduz[a-z]*|reduc[a-z]+|"
    r"pior(?:ou|a|am|aram|ando)|baix(?:ou|aram|ando)|despenc[a-z]+|declin[a-z]+)|"
    r"cada vez (?:mais|menos|menor|maior|pior|melhor)|dobr(?:ou|aram|ando)|triplic[a-z]+)(?![a-z])"
)
_CHANGED: Final = re.compile(
    r"(?<![a-z])(?:gast|valor|compr|pedid|frequenci|ticket|consum|interval|entreg|atras|parcel|volum|ritm|praz)[a-z]*"
)
_RATED: Final = re.compile(r"(?<![a-z])(?:not|avalia|satisfac|medi)[a-z]*")
_OUTLOOK: Final = re.compile(
    r"(?<![a-z])(?:risc|chanc|probab|possibil|expectativ|confianc|interess|incertez|preocup|alert|tendenc)[a-z]*"
)
_HABIT: Final = re.compile(
    r"(?<![a-z])(?:tod[oa]s? (?:[oa]s )?(?:mes|meses|semanas?|dias?|anos?)|"
    r"(?:por|ao|a cada) (?:mes|semana|dia|ano|\d+ [a-z]+)|n[oa] (?:mes|semana|ano)(?! passad)|"
    r"mensal(?:mente)?|semanal(?:mente)?|diari(?:o|a|amente)|quinzenal(?:mente)?|anual(?:mente)?)(?![a-z])"
)
_EACH: Final = re.compile(r"(?<![a-z])(?:cada|sempre|tod[oa]s?)(?![a-z])")
_PAID: Final = re.compile(
    r"(?<![a-z])(?:pag[a-z]+|parcel[a-z]+|prestac[a-z]+|boleto)(?: (?!entreg|receb|e |mas )[a-z\d]+){0,4} "
    r"(?:atras[a-z]*|com atraso|em dia|em aberto|vencid[a-z]+|pendentes?)(?![a-z])"
)
_ARRIVED: Final = re.compile(
    r"(?<![a-z_])(?:chegou|chegaram|recebeu|receberam|recebid[oa]s?|entregues?|entregamos|entregou|em maos)(?![a-z])"
)
_ANY: Final = sum(flag for frame, flag in FRAMES.items() if frame not in ("orders", "turns"))
_NOT: Final = re.compile(r"(?:nao|nunca|nem|sem)(?: [a-z]+){0,3} $")


def count_faults(frames: int, said: str, rest: str, claims: Sequence[Read], shopper: ProfiledShopper) -> int:
    """Count the frames of a text that say what no profile bears.

    Args:
        frames: The notes of its words, among them the frames to which they lead.
        said: The text as `spoken` gives it.
        rest: The same, where `TAKEN` stands for what a claim took.
        claims: The claims.
        shopper: The profile.
    """
    if not frames & _ANY:
        return 0
    found = sum(word not in _SHOP_MAY for word in _SHOP_ACTS.findall(rest)) if frames & FRAMES["shop"] else 0
    if frames & FRAMES["others"]:
        found += len(_OTHERS.findall(f" {rest}"))
    if frames & FRAMES["advice"]:
        found += sum(bool(denies or denied) or verb not in ADVISED for denies, denied, verb in _ADVICE.findall(rest))
    if frames & FRAMES["cause"]:
        found += _empty_causes(rest, claims)
    if frames & FRAMES["change"]:
        found += _false_changes(said, shopper)
    if frames & FRAMES["habit"]:
        found += len(_HABIT.findall(rest))
    if frames & FRAMES["payment"]:
        found += _PAID.search(said) is not None
    if frames & FRAMES["purpose"]:
        found += sum(word not in HARMLESS for word in _PURPOSE.findall(rest))
    if frames & FRAMES["arrival"] and shopper.values.get("undelivered"):
        found += _false_arrivals(rest, claims, shopper)
    return found


def _empty_causes(rest: str, claims: Sequence[Read]) -> int:
    """Count the causes, behind `porque` or before `por isso`, that claim nothing, or only how it was paid."""
    found = 0
    for cause in _CAUSE.finditer(rest):
        if cause["so"]:
            begin, end = rest.rfind(" .", 0, cause.start()) + 1, cause.start()
        else:
            begin, end = cause.end(), rest.find(" .", cause.end())
            end = end if end > 0 else len(rest)
        paid = [read.claim.pays for read in claims if begin <= read.start < end]
        found += all(paid) if paid else not cause["so"] and TAKEN not in rest[begin:end] and end > begin + 1
    return found


def _false_changes(said: str, shopper: ProfiledShopper) -> int:
    """Count what is said to have changed, where only the last rating beside the mean can show a change."""
    found = 0
    last, mean = shopper.values.get("last"), shopper.values.get("mean")
    for clause in _CLAUSES.split(said):
        change = _CHANGE.search(clause)
        if not change or _OUTLOOK.search(clause):
            continue
        if _RATED.search(clause) and not _EACH.search(clause):
            if last is not None and mean is not None:
                found += last <= mean + SAME_RATING if change["up"] else last >= mean - SAME_RATING
        else:
            found += (_CHANGED.search(clause) or _RATED.search(clause)) is not None
    return found


def _false_arrivals(rest: str, claims: Sequence[Read], shopper: ProfiledShopper) -> int:
    """Count what is said to have arrived of a shopper who waits for an order, unless that is said too."""
    if any("undelivered" in (read.claim.number, *read.claim.bounds) and read.holds(shopper) for read in claims):
        return 0
    return sum(not _NOT.search(rest[: match.start()]) for match in _ARRIVED.finditer(rest))
