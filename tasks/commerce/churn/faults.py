"""Faults of a reason that stand beside its claims: what no line of a profile can bear, whatever the words.

Each is a frame: a word that leads to it (`frame_words`), and a pattern around it. Most texts hold no such word.
"""

import re
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Final

from tasks.commerce.churn.claims import TAKEN, Read, needs_met_by
from tasks.commerce.churn.pattern_keys import KEY
from tasks.commerce.churn.shopper import ProfiledShopper
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.remembered import Remembered
from tasks.commerce.text.text_form import fold
from tasks.commerce.text.vocabulary import CLOSED_CLASS, Vocabulary, root

DATA_FILES: Final = (
    "data/lexicons/churn_advice.txt",
    "data/lexicons/churn_judgements.txt",
    "data/lexicons/churn_words.txt",
)
SAME_RATING: Final = 0.05
"""Difference of the last rating and the mean up to which neither is higher."""
HARMLESS: Final = Vocabulary("churn_words")
"""Words that say nothing of a shopper which their profile would have to bear."""
_CLAUSES: Final = re.compile(r" [.,] | e (?!e )| mas | porem | porque | pois ")
_NOUN: Final = (
    r"(?:client|pesso|consumid|comprad|shopper|sujeit|figur|loj|produt|mercadori|ite[mn]|encomend|atendiment)[a-z]*"
)
_LINK: Final = (
    r"(?:(?:e|era|foi|esta|estava|parece|veio|vem|chegou|saiu|ficou|muito|muita|bem|tao|meio|um|uma|mais|bastante|"
    r"pouco|que|sem|tambem|ser|se|mostra|mostrou|do|tipo) )*"
)
_BEHIND_A_NOUN: Final = re.compile(rf"(?<![a-z]){_NOUN} {_LINK}([a-z]+)")
_BEFORE_A_NOUN: Final = re.compile(rf"(?<![a-z])([a-z]+) {_NOUN}(?![a-z])")
_SHOP_ACTS: Final = re.compile(
    r"(?:^|[.,] |(?<![a-z])(?:e|que|porque|pois|mas) )(?:a|nossa|esta|essa) loja(?: nao| ja| so| nunca| nos)* ([a-z]+)"
)
_SHOP_MAY: Final = CLOSED_CLASS | {"pode", "deve", "precisa"}
_OTHER: Final = re.compile(
    r"(?<![a-z])outr[oa]s? (?:loj|sit|marc|lugar|empres|vended|fornec|plataform|canal|cana)[a-z]*"
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
    r"por conta d[aeo]s?|gracas aos?|por ser|por ter|por estar)(?![a-z])"
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
_NOT: Final = re.compile(r"(?:nao|nunca|nem|sem)(?: [a-z]+){0,3} $")
_LED_BY: Final[Mapping[str, str]] = {
    "noun": "client pesso consumid comprad shopper sujeit figur loj produt mercadori item iten encomend atendiment",
    "shop": "loja",
    "other": "outr",
    "advice": (
        "convem cabe vale compensa melhor basta recomend sugir sugeri aconselh bom preciso hora necess importan "
        "prudent urgent precisamos devemos podemos vamos temos tem"
    ),
    "cause": "porque pois ja visto vez causa devido razao conta gracas por",
    "change": (
        "aument cresc subi sobe melhor ascen ampli evolu diminu cai queda reduz reduc pior baix despenc declin cada "
        "dobr triplic"
    ),
    "habit": "tod cada ao por no na mensal semanal diari quinzenal anual",
    "payment": "pag parcel prestac boleto",
    "purpose": "para pra",
    "arrival": "cheg receb entreg maos",
    "orders": (
        "tod sempre amb cada ultim primeir segund terceir quart quint sext nos nas os as nao nunca jamais nem deixou"
    ),
    "turns": "mas porem contudo entretanto todavia tanto so apesar embora mesmo ainda se por nao despeito",
}
"""Beginnings of the words without which a frame cannot be in a text."""
_BITS: Final = {frame: 1 << place for place, frame in enumerate(_LED_BY)}
OF_ORDERS: Final = _BITS["orders"]
"""Words that say of which orders a claim is said, or deny it."""
TURNS: Final = _BITS["turns"]
"""Words that concede or turn."""


def _beginnings() -> dict[str, int]:
    found: dict[str, int] = {}
    for frame, words in _LED_BY.items():
        for word in words.split():
            found[word[:KEY]] = found.get(word[:KEY], 0) | _BITS[frame]
    return found


_ADVISED: Final = frozenset(map(fold, read_lexicon("churn_advice")))
_JUDGING: Final = frozenset(root(fold(word)) for word in read_lexicon("churn_judgements"))
_JUDGES: Final = 1 << len(_LED_BY)
_FRAMES: Final = len(_LED_BY) + 1
ALL_FRAMES: Final = (1 << _FRAMES) - 1
_BEGINNINGS: Final = _beginnings()


def _leads_of(word: str) -> int:
    frames = _JUDGES if root(word) in _JUDGING else 0
    for length in range(2, KEY + 1):
        frames |= _BEGINNINGS.get(word[:length], 0)
    return needs_met_by(word) << _FRAMES | frames


_LEADS_OF: Final = Remembered(_leads_of)


def leads_of(said: str) -> tuple[int, int]:
    """Return the frames to which the words of a text lead, and the needs of claims that they meet, as bits."""
    leads = reduce(or_, map(_LEADS_OF.__getitem__, said.split(" ")), 0)
    return leads & ALL_FRAMES, leads >> _FRAMES


def count_faults(frames: int, said: str, rest: str, claims: Sequence[Read], shopper: ProfiledShopper) -> int:
    """Count the frames of a text that say what no profile bears.

    Args:
        frames: The frames to which its words lead.
        said: The text as `spoken` gives it.
        rest: The same, where `TAKEN` stands for what a claim took.
        claims: The claims.
        shopper: The profile.
    """
    found = _judgements(frames, rest) if frames & _BITS["noun"] else 0
    if frames & _BITS["other"]:
        found += len(_OTHER.findall(rest))
    if frames & _BITS["advice"]:
        found += sum(bool(denies or denied) or verb not in _ADVISED for denies, denied, verb in _ADVICE.findall(rest))
    if frames & _BITS["cause"]:
        found += _empty_causes(rest)
    if frames & _BITS["change"]:
        found += _false_changes(said, shopper)
    if frames & _BITS["habit"]:
        found += len(_HABIT.findall(rest))
    if frames & _BITS["payment"]:
        found += _PAID.search(said) is not None
    if frames & _BITS["purpose"]:
        found += sum(word not in HARMLESS for word in _PURPOSE.findall(rest))
    if frames & _BITS["arrival"] and shopper.values.get("undelivered"):
        found += _false_arrivals(rest, claims, shopper)
    return found


def _judgements(frames: int, rest: str) -> int:
    """Count what is said of the person, the shop or a product that only a profile of them could bear."""
    found = sum(map(_judges, _BEHIND_A_NOUN.findall(rest)))
    if frames & _BITS["shop"]:
        found += sum(word not in _SHOP_MAY for word in _SHOP_ACTS.findall(rest))
    if frames & _JUDGES:
        found += sum(root(word) in _JUDGING for word in _BEFORE_A_NOUN.findall(rest))
    return found


def _judges(word: str) -> bool:
    """Return whether a word beside a person or a thing says of them what no profile does."""
    return word not in CLOSED_CLASS and (root(word) in _JUDGING or word not in HARMLESS)


def _empty_causes(rest: str) -> int:
    """Count the causes that hold no claim: between `porque` and the end of its sentence."""
    ends = [rest.find(" .", cause.end()) for cause in _CAUSE.finditer(rest)]
    causes = [
        rest[cause.end() : end if end > 0 else None] for cause, end in zip(_CAUSE.finditer(rest), ends, strict=True)
    ]
    return sum(TAKEN not in cause and len(cause) > 1 for cause in causes)


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
