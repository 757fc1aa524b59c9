"""Simulation of shopping: each order brings an experience, and each experience a probability that it was the last."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from tasks.synthesize.catalogue import Address, Catalogue, Product, draw_address, draw_id
from tasks.synthesize.delivery import Delivery, draw_delivery
from tasks.synthesize.experience import Experience, judge
from tasks.synthesize.keyboard import Style, draw_style

OPENING: Final = datetime.fromisoformat("2017-01-01")
CLOSING: Final = datetime.fromisoformat("2018-07-01")
"""Moment of the store's snapshot: events after it are null."""
SHARE_OF_LAST_EXPERIENCE: Final = 0.6
CHANCE_OF_BOLETO: Final = 0.195
PRODUCT_ISSUES: Final = ("broken", "wrong", "unlike", "flimsy", "incomplete")
SELLER_ISSUES: Final = ("silent", "packaging", "refund")
# Reviews mention every issue of their order, and nobody writes about three.
MOST_ISSUES: Final = 2
FEWEST_DAYS_WAITING: Final = 2
CHANCE_OF_WAITING: Final = 0.75
"""Probability that a shopper whose order is late by so many days reviews it before it comes, as most on Olist did."""


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
        hazard += SHARE_OF_LAST_EXPERIENCE * (order.experience.churn_risk - hazard)
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
    by_boleto = generator.random() < CHANCE_OF_BOLETO
    seller = lines[0].product.seller
    delivery = draw_delivery(purchased, address.state, seller.care, by_boleto=by_boleto, generator=generator)
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
    if delivery.days_late >= FEWEST_DAYS_WAITING and generator.random() < CHANCE_OF_WAITING:
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
    late = ["late"] if delivery.days_late else []
    return (late + others)[:MOST_ISSUES]
