"""Prompts of delay: the two dates of a delivery, as a shop gives them and as the store has them."""

import random
from collections.abc import Iterator
from datetime import date
from typing import Final

from pydantic import Field

from schemas.store.store import Store
from tasks.commerce.example import Example, distinct_prompts
from tasks.commerce.inputs import TaskInputs
from tasks.commerce.text.lexicons import read_wording

DATA_FILES: Final = ("data/wordings/delay.toml",)
WORDING: Final = read_wording("delay")
Delivery = tuple[str, date, date]
"""An order, the day that was promised and the day of its delivery."""


class DelayInputs(TaskInputs):
    """Inputs of one delivery."""

    promised: date = Field(description="The day that was promised, such as 2026-01-31")
    delivered: date = Field(description="The day of the delivery")

    def prompt(self, instruction: str) -> str:
        """Return the prompt."""
        return f"{instruction}\nPrometido: {self.promised:%d/%m/%Y}\nEntregue: {self.delivered:%d/%m/%Y}"


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples from the store's deliveries, in random order."""
    dates = ("order_id", "order_estimated_delivery_date", "order_delivered_customer_date")
    rows = store.orders.select(dates).drop_nulls().sort("order_id").iter_rows()
    deliveries: list[Delivery] = [(order, promised.date(), delivered.date()) for order, promised, delivered in rows]
    for found, prompt in distinct_prompts(deliveries, WORDING.instructions, _prompt, generator, count):
        order, promised, delivered = found
        yield Example("delay", WORDING.system, prompt, {"days": (delivered - promised).days}, order_id=order)


def _prompt(delivery: Delivery, instruction: str) -> str:
    _, promised, delivered = delivery
    return DelayInputs(promised=promised, delivered=delivered).prompt(instruction)
