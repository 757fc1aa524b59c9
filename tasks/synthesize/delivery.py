"""Delivery of an order: the times of approval, shipping, promise and arrival."""

import random
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Final

from tasks.synthesize.market import State

CHANCE_LOST: Final = 0.015
CHANCE_CANCELED: Final = 0.012
CARELESS_DELAYS, CAREFUL_DELAYS = 1.9, 0.4
"""Factor of a seller's care, from none to full, on the probability of a delay."""
MEAN_DAYS_LATE: Final = 9


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
    purchased: datetime, destination: State, care: float, *, by_boleto: bool, generator: random.Random
) -> Delivery:
    """Draw the times of an order."""
    approved = purchased + (_days(generator.uniform(0.8, 3)) if by_boleto else _days(generator.uniform(0.01, 0.3)))
    slack = destination.promised_days * generator.uniform(0.75, 1.25)
    promised = datetime.combine(purchased + _days(slack), time.min)
    fate = generator.random()
    if fate < CHANCE_CANCELED:
        return Delivery(approved, None, None, promised)
    shipped = approved + _days(0.5 + generator.expovariate(1 / (1 + 4 * (1 - care))))
    if fate < CHANCE_CANCELED + CHANCE_LOST:
        return Delivery(approved, shipped, None, promised)
    delivered = shipped + _days(destination.transit_days * generator.lognormvariate(-0.05, 0.3))
    if generator.random() < destination.disruption * (CARELESS_DELAYS - (CARELESS_DELAYS - CAREFUL_DELAYS) * care):
        delivered = max(delivered, promised + _days(1 + generator.expovariate(1 / MEAN_DAYS_LATE)))
    if delivered.date() == promised.date():
        promised += timedelta(days=1)
    return Delivery(approved, shipped, delivered, promised)


def _days(number: float) -> timedelta:
    return timedelta(seconds=round(number * 86_400))
