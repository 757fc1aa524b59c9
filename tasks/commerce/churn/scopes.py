"""Scope of a claim: all of a shopper's orders, or one of them, and since when its days are counted.

A profile knows totals, the last rating and the mean; what is said of each order or of one order it bears out only where
these leave no choice.
"""

import re
from typing import Final, NamedTuple

from tasks.commerce.churn.claims import Read, near_money
from tasks.commerce.churn.shopper import ProfiledShopper

REACH: Final = 40
"""Characters before a claim that are searched for what it is said of."""
_ORDERS: Final = r"(?:pedid[oa]s?|compras?|entregas?|encomendas?|vezes)"
_ALL: Final = (
    rf"(?:tod[oa]s?(?: [oa]s)?(?: \d+)?(?: {_ORDERS})?|cada(?: um[a]?)?(?: {_ORDERS})?|"
    rf"amb[oa]s(?: [oa]s)?(?: {_ORDERS})?|sempre)"
)
_NTH: Final = r"(?:ultim|primeir|segund|terceir|quart|quint|sext)"
_AFTER: Final = re.compile(
    rf" (?:(?:(?:em|a|ao|de|por|com) )?(?P<all>{_ALL})|(?P<each>[nd][oa]s \d+(?: {_ORDERS}|(?= [.,]|$| e )))|"
    rf"[nd][oa] (?:(?:seu|sua) )?(?P<nth>{_NTH})[oa]"
    r"(?: (?:e unic[oa] )?(?:compra|pedido|entrega|encomenda|vez))?)(?![a-z\d])"
)
_BEFORE: Final = re.compile(
    rf"(?:(?<!nem )(?<!ao )(?P<all>{_ALL})|(?P<each>(?: |^)[oa]s \d+ {_ORDERS})|(?P<nth>{_NTH})[oa](?! nota| avalia))"
    r"(?: (?!e |desde)[a-z]+){0,3} $"
)
_DEFINITE: Final = re.compile(r"(?:^| )[oa]s $")
_OF_THEM: Final = re.compile(rf"{_ORDERS} (?:ainda )?(?:nao )?(?:foram|chegaram|atrasaram|tiveram|vieram)")
_WITHIN_ALL: Final = re.compile(r"(?<![a-z])(?<!ao )(?:tod[oa]s?|sempre|amb[oa]s)(?![a-z])")
_PLACES: Final = ("primeir", "segund", "terceir", "quart", "quint", "sext")
_OTHER_DAYS_BEFORE: Final = re.compile(
    r"(?:cada|esper[a-z]+|aguard[a-z]+|demor[a-z]+|lev(?:a|ou|aram|ando)|dur[a-z]+|prazo de|"
    r"atras[a-z]+(?: de| em| por)?|entreg[a-z]+ em|cheg[a-z]+ em|dentro de|cliente|conosco|cadastrad[oa]|"
    r"(?P<within>em))"
    r"(?: (?:ha|por|uns|quase|apenas|so|de|mais|menos))* $"
)
_OTHER_DAYS_AFTER: Final = re.compile(
    r" (?:para (?!ca )|pela|pelo|de (?:atraso|espera|prazo|demora|entrega)|ate |"
    r"depois(?! [,.]| sem | nao | nada| nenhum| disso)|apos|entre|esper|aguard|na fila|como cliente)"
)
_SEVERAL: Final = re.compile(r"(?:pedidos|compras|vezes|encomendas)(?: [a-z]+){0,3} $")
_DENIED: Final = re.compile(r"(?<![a-z])(?:nao|nunca|jamais|nem|deixou de)(?: (?!so |apenas )[a-z]+)? $")
_SINCE: Final = re.compile(
    r"(?<![a-z])(?:ha|faz|fazem|desde|sem|nao|nunca|nenhum|parad|silenc|inativ|ausen|afastad|sumi|ultim|recen|"
    r"atras |intervalo|pausa|compr|pedid|volt|passaram|completou|distan|depois [,.]|em branco|nada)"
)


class Scope(NamedTuple):
    """What a claim is said of."""

    holds: bool
    """Whether the profile can bear it."""
    end: int
    """End of the words behind the claim that say it, or of the claim."""


def scope_of(said: str, rest: str, read: Read, shopper: ProfiledShopper, *, ordered: bool) -> Scope:
    """Return what a claim is said of, and whether the profile bears it out.

    Args:
        said: The text as `spoken` gives it.
        rest: The same, where `TAKEN` stands for what a claim took.
        read: A claim in it, which is true by itself.
        shopper: The profile.
        ordered: Whether the text holds a word that says so, or denies.
    """
    number = read.claim.number
    if read.claim.concludes or not (ordered or number == "time"):
        return Scope(True, read.end)
    before = said[max(read.start - REACH, 0) : read.start]
    before = before[max(before.rfind(" . "), before.rfind(" , ")) + 1 :]
    if number == "time":
        return Scope(_since_the_last(said, before, read), read.end)
    if number and _DENIED.search(rest, max(read.start - REACH, 0), read.start):
        return Scope(False, read.end)
    if number in ("orders", "per_order") or not shopper.values.get("orders"):
        return Scope(True, read.end)
    after = _AFTER.match(said, read.end)
    found = after or _BEFORE.search(before)
    if found and found["nth"]:
        holds = _holds_of_one(found["nth"], read, shopper)
    else:
        found = found or _WITHIN_ALL.search(said, read.start, read.end)
        found = found or (_DEFINITE.search(before) and _OF_THEM.match(said, read.start))
        holds = not found or _holds_of_all(read, shopper)
    return Scope(holds, after.end() if after else read.end)


def _holds_of_all(read: Read, shopper: ProfiledShopper) -> bool:
    values, bounds = shopper.values, read.claim.bounds
    orders, name = values["orders"], read.claim.number
    if name in ("rating", "mean", "last"):
        return _same_ratings(shopper)
    if name == "spent":
        return near_money(read, values.get("spent", 0.0) / orders)
    if name == "instalments":
        return 1.0 in (orders, values.get("instalments"))
    if "last" in bounds and not read.denied:
        return all(
            shopper.within(each, *bounds[each]) for each in ("last", "mean") if each in values and each in bounds
        )
    return len(bounds) > 1 or _counts_all(read, shopper)


def _holds_of_one(nth: str, read: Read, shopper: ProfiledShopper) -> bool:
    values, bounds = shopper.values, read.claim.bounds
    orders, name = values["orders"], read.claim.number
    if orders == 1:
        return True
    if name in ("rating", "mean", "last") or "last" in bounds or "worst" in bounds:
        is_last = nth == "ultim" or (nth in _PLACES and _PLACES.index(nth) + 1 == orders)
        asked = bounds.get("last") or bounds.get("worst")
        said_of_last = shopper.within("last", *asked) if asked else read.holds_of("last", shopper)
        return _same_ratings(shopper) or (is_last and said_of_last)
    if name == "instalments":
        return values.get("instalments") == 1
    return name != "spent" and _counts_all(read, shopper)


def _same_ratings(shopper: ProfiledShopper) -> bool:
    """Return whether the last rating is that of all, as far as a profile shows both."""
    mean = shopper.values.get("mean")
    return shopper.values.get("last", mean) == mean


def _counts_all(read: Read, shopper: ProfiledShopper) -> bool:
    """Return whether deliveries that are said to be late or missing are all of them."""
    values, bounds = shopper.values, read.claim.bounds
    return all(
        values.get(count) == values["orders"]
        for count in ("late", "undelivered")
        if read.claim.number == count or (not read.denied and count in bounds and bounds[count][0] >= 1)
    )


def _since_the_last(said: str, before: str, read: Read) -> bool:
    """Return whether days are those since the last purchase, and not of a delivery, a habit or a span of orders."""
    other = _OTHER_DAYS_BEFORE.search(before)
    if other and not (other["within"] and read.negative):
        return False
    if _OTHER_DAYS_AFTER.match(said, read.end):
        return False
    if read.of_late_days and not read.negative and " 1 " not in f" {before}" and _SEVERAL.search(before):
        return False
    begin, end = said.rfind(" . ", 0, read.start) + 1, said.find(" . ", read.end)
    return _SINCE.search(said, begin, end if end > 0 else len(said)) is not None
