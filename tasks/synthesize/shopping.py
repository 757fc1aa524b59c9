"""Simulation of shopping: each order brings a delivery and an experience, each of which may be the last."""

import random
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any, Final

from tasks.synthesize.market import CHANCES, ISSUES, Address, Catalogue, Product, draw_address, draw_id
from tasks.synthesize.sentences import Style, draw_style

CARELESS_DELAYS, CAREFUL_DELAYS = 1.9, 0.4
"""Factor of a seller's care, from none to full, on the probability of a delay."""


@dataclass(frozen=True)
class Delivery:
    """Times of one order; null for events that never happen."""

    approved: datetime
    shipped: datetime | None
    delivered: datetime | None
    promised: datetime
    """Midnight of the promised day; no order arrives on that very day, so that late is unambiguous."""

    @property
    def days_late(self) -> int:
        """Return the whole days past the promised one; 0 if the order was in time or never came."""
        return max((self.delivered.date() - self.promised.date()).days, 0) if self.delivered else 0

    @property
    def settled(self) -> datetime:
        """Return when the outcome is clear to the shopper: it came, or waiting any longer is pointless."""
        if self.delivered:
            return self.delivered
        return self.promised + timedelta(days=5) if self.shipped else self.approved + timedelta(days=3)


def draw_delivery(
    purchased: datetime, destination: Any, care: float, *, by_boleto: bool, generator: random.Random
) -> Delivery:
    """Draw the times of an order."""
    approved = purchased + (_days(generator.uniform(0.8, 3)) if by_boleto else _days(generator.uniform(0.01, 0.3)))
    slack = destination.promised_days * generator.uniform(0.75, 1.25)
    promised = datetime.combine(purchased + _days(slack), time.min)
    fate = generator.random()
    if fate < CHANCES["canceled"]:
        return Delivery(approved, None, None, promised)
    shipped = approved + _days(0.5 + generator.expovariate(1 / (1 + 4 * (1 - care))))
    if fate < CHANCES["canceled"] + CHANCES["lost"]:
        return Delivery(approved, shipped, None, promised)
    delivered = shipped + _days(destination.transit_days * generator.lognormvariate(-0.05, 0.3))
    if generator.random() < destination.disruption * (CARELESS_DELAYS - (CARELESS_DELAYS - CAREFUL_DELAYS) * care):
        delivered = max(delivered, promised + _days(1 + generator.expovariate(1 / CHANCES["mean_days_late"])))
    if delivered.date() == promised.date():
        promised += timedelta(days=1)
    return Delivery(approved, shipped, delivered, promised)


def _days(number: float) -> timedelta:
    return timedelta(seconds=round(number * 86_400))


RISK_BY_SCORE: Final = {1: 0.9, 2: 0.8, 3: 0.5, 4: 0.2, 5: 0.1}
LEAST_PLEASURE: Final = (2.2, 2.45, 3.35, 4.42)
"""Minimum pleasure of two, three, four and five stars; few give two, as in Olist: disappointed shoppers give one."""
USUAL_DELAY, LONG_DELAY = 4, 14
"""Days late at which the severity of `late` applies unchanged, and beyond which more days make it no worse."""


@dataclass(frozen=True)
class Experience:
    """One order as its shopper experienced it."""

    score: int
    issues: tuple[str, ...]
    """Keys of `market.ISSUES`, the worst first; nothing else went wrong."""
    would_recommend: bool
    repeat_intent: bool

    @property
    def sentiment(self) -> str:
        """Return `positive` from four stars, `negative` up to two, else `neutral`."""
        return "positive" if self.score >= 4 else "neutral" if self.score == 3 else "negative"

    @property
    def churn_risk(self) -> float:
        """Return the probability that the shopper leaves because of this order alone, in tenths."""
        intention = -0.1 if self.repeat_intent else 0.1
        return round(RISK_BY_SCORE[self.score] + (intention if self.score == 3 else 0.0), 1)

    def has(self, category: str) -> bool:
        """Return whether an issue of the category occurred."""
        return any(ISSUES[key].category == category for key in self.issues)

    def causes(self) -> dict[str, Any]:
        """Return the true values of the ten fields of an extraction."""
        worst = ISSUES[self.issues[0]] if self.issues else None
        return {
            "sentiment": self.sentiment,
            "sentiment_score": self.score,
            "churn_risk": self.churn_risk,
            "delivery_issue": self.has("delivery"),
            "product_issue": self.has("product"),
            "seller_issue": self.has("seller"),
            "main_complaint": worst.complaint if worst else "",
            "complaint_category": worst.category if worst else "none",
            "repeat_intent": self.repeat_intent,
            "would_recommend": self.would_recommend,
        }


def judge(issues: Collection[str], leniency: float, generator: random.Random, days_late: int = 0) -> Experience:
    """Let a shopper rate an order with some of `market.ISSUES`; leniency is the stars that temperament adds."""
    ranked = tuple(sorted(issues, key=lambda key: (-ISSUES[key].severity, key)))
    cost = sum(ISSUES[key].severity for key in ranked)
    cost += CHANCES["stars_per_day_late"] * (min(days_late, LONG_DELAY) - USUAL_DELAY) if "late" in ranked else 0.0
    pleasure = 5 - cost + leniency + generator.gauss(0, CHANCES["mood"])
    stars = 1 + sum(pleasure >= least for least in LEAST_PLEASURE)
    # Complaining shoppers do not give five stars, and those without a complaint give at least three, except the few who
    # dislike it all without saying why.
    score = min(stars, 4) if ranked else max(stars, 3)
    if not ranked and generator.random() < CHANCES["unexplained"]:
        score = generator.choice((1, 1, 2))
    intends = [generator.random() < CHANCES["intention"] for _ in range(2)] if score == 3 else [score > 3] * 2
    return Experience(score, ranked, *intends)


OPENING: Final = datetime.fromisoformat("2017-01-01")
CLOSING: Final = datetime.fromisoformat("2018-07-01")
"""Moment of the store's snapshot: events after it are null."""
PRODUCT_ISSUES: Final = ("broken", "wrong", "unlike", "flimsy", "incomplete")
SELLER_ISSUES: Final = ("silent", "packaging", "refund")
# Reviews mention every issue of their order, and nobody writes about three.
MOST_ISSUES: Final = 2
FEWEST_DAYS_WAITING: Final = 2


@dataclass(frozen=True)
class OrderLine:
    """One item of an order."""

    product: Product
    freight: float


@dataclass(frozen=True)
class Order:
    """One order, from the purchase to the shopper's verdict."""

    order_id: str
    customer_id: str
    lines: tuple[OrderLine, ...]
    purchased: datetime
    by_boleto: bool
    delivery: Delivery
    experience: Experience | None
    """None if the snapshot came before the outcome was clear to the shopper."""

    @property
    def asked(self) -> datetime:
        """Return when the shop asks for a review: after the delivery, or as soon as the promised day has passed."""
        waiting = self.experience is not None and "waiting" in self.experience.issues
        return (self.delivery.promised if waiting else self.delivery.settled) + timedelta(days=1)

    @property
    def total(self) -> float:
        """Return prices and freight, in reais."""
        return round(sum(line.product.price + line.freight for line in self.lines), 2)


@dataclass(frozen=True)
class Shopper:
    """One person, with every order and the truth about their leaving."""

    customer_unique_id: str
    address: Address
    style: Style
    orders: tuple[Order, ...]
    hazard: float
    """The probability of leaving after the last experience."""
    churned: bool
    """Whether they have left, and would not have come back after the snapshot."""


def draw_shopper(catalogue: Catalogue, generator: random.Random) -> Shopper:
    """Draw a person and let them shop until they leave or the snapshot is taken."""
    address, style = draw_address(generator), draw_style(generator)
    temperament = generator.gauss(0, 0.3)
    moment = OPENING + (CLOSING - OPENING) * generator.random()
    # Personal fickleness affects nothing else, so that no history reveals everything.
    hazard, churned, orders = generator.betavariate(3, 4), False, list[Order]()
    while moment < CLOSING and not churned:
        order = _draw_order(moment, address, temperament, catalogue, generator)
        orders.append(order)
        if order.experience is None:
            break
        hazard += CHANCES["share_of_last_experience"] * (order.experience.churn_risk - hazard)
        churned = generator.random() < hazard
        moment = order.delivery.settled + timedelta(days=generator.gammavariate(2, 45))
    return Shopper(draw_id(generator), address, style, tuple(orders), round(hazard, 3), churned)


def _draw_order(
    moment: datetime, address: Address, leniency: float, catalogue: Catalogue, generator: random.Random
) -> Order:
    purchased = moment.replace(
        hour=min(max(round(generator.gauss(15, 4.5)), 0), 23),
        minute=generator.randrange(60),
        second=generator.randrange(60),
        microsecond=0,
    )
    lines = _draw_lines(address, catalogue, generator)
    by_boleto = generator.random() < CHANCES["boleto"]
    care = lines[0].product.seller.care
    delivery = draw_delivery(purchased, address.state, care, by_boleto=by_boleto, generator=generator)
    lived = delivery.settled < CLOSING
    issues = _draw_issues(lines, delivery, generator) if lived else []
    experience = judge(issues, leniency, generator, delivery.days_late) if lived else None
    return Order(draw_id(generator), draw_id(generator), lines, purchased, by_boleto, delivery, experience)


def _draw_lines(address: Address, catalogue: Catalogue, generator: random.Random) -> tuple[OrderLine, ...]:
    product = generator.choices(catalogue.products, cum_weights=catalogue.demand)[0]
    products = [product] * generator.choices((1, 2, 3), weights=(88, 9, 3))[0]
    if generator.random() < 0.04:
        products.append(generator.choice(catalogue.products))
    return tuple(OrderLine(product, _freight(product, address, generator)) for product in products)


def _freight(product: Product, address: Address, generator: random.Random) -> float:
    distance = address.state.transit_days if product.seller.address.state != address.state else 2
    return round((7 + 0.9 * distance + product.weight / 1000) * generator.uniform(0.9, 1.1), 2)


def _draw_issues(lines: tuple[OrderLine, ...], delivery: Delivery, generator: random.Random) -> list[str]:
    """Draw the issues of an order, at most two; those visible in its dates always count."""
    product, seller = lines[0].product, lines[0].product.seller
    silence = ["silent"] if generator.random() < 0.3 else []
    if delivery.shipped is None:
        return ["canceled", *silence]
    if delivery.delivered is None:
        return ["lost", *silence]
    if delivery.days_late >= FEWEST_DAYS_WAITING and generator.random() < CHANCES["waiting"]:
        return ["waiting", *silence]
    others = []
    if generator.random() < 0.34 * (1 - product.soundness):
        others.append(generator.choice(PRODUCT_ISSUES))
    if generator.random() < 0.16 * (1 - seller.care):
        others.append(generator.choice(SELLER_ISSUES))
    if lines[0].freight > 0.25 * product.price and generator.random() < 0.06:
        others.append("freight")
    others += [issue for issue, chance in (("price", 0.012), ("regret", 0.012)) if generator.random() < chance]
    generator.shuffle(others)
    return (["late"] * bool(delivery.days_late) + others)[:MOST_ISSUES]
