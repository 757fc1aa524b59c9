"""Simulated store from one seed, which keeps the causes of its orders and reviews as hidden truth.

Shoppers arrive over eighteen months, order, experience each delivery (`shopping`), and either leave for good with the
probability of their hazard or come back. Their reviews describe the experience; `review_causes` has it in fields.

Unlike in Olist most shoppers come back, so that churn has a history, and two reviews in three have a message (there
four in ten), since prompts are made from messages.
"""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from schemas.store.store import FILE_NAMES, Store
from schemas.store.tables import TABLES
from schemas.tables.prompts import PromptRow, content_id
from tasks.commerce.example import Example
from tasks.synthesize.market import CATEGORIES, CHANCES, Catalogue, draw_catalogue, draw_id
from tasks.synthesize.review_text import write_message, write_title
from tasks.synthesize.shopping import CLOSING, Order, Shopper, draw_shopper

Row = tuple[Any, ...]
ROWS_AT_ONCE: Final = 5_000  # Of a table as Python objects, so that a large store needs little memory.
INSTALMENTS: Final = (28, 16, 14, 10, 8, 6, 3, 8, 1, 10)
"""Weights of one to ten instalments of a card payment, after Olist, if the total allows as many."""
_KINDS: Final = (("credit_card", "voucher", "debit_card"), (94.5, 3.5, 2))


def simulate_store(orders: int, generator: random.Random) -> Store:
    """Simulate a store with exactly so many orders; equal generators give equal stores."""
    catalogue = draw_catalogue(orders, generator)
    # In the order of each table's columns.
    rows: dict[str, list[Row]] = {table: [] for table in FILE_NAMES}
    frames: dict[str, list[pl.DataFrame]] = {table: [] for table in FILE_NAMES}

    def keep(fewest: int) -> None:
        for table, some in rows.items():
            if len(some) >= fewest:
                frames[table].append(pl.DataFrame(some, TABLES[table].types, orient="row"))
                some.clear()

    for shopper in _draw_shoppers(orders, catalogue, generator):
        rows["customer_hazards"].append((shopper.customer_unique_id, shopper.hazard, shopper.churned))
        for order in shopper.orders:
            rows["orders"].append(_order(order))
            rows["customers"].append(_customer(shopper, order))
            rows["items"] += _items(order)
            rows["payments"] += _payments(order, generator)
            _review(shopper, order, rows, generator)
        keep(ROWS_AT_ONCE)
    rows["products"] += _products(catalogue)
    rows["sellers"] += _sellers(catalogue)
    rows["category_translation"] += ((category.name, category.english) for category in CATEGORIES)
    keep(0)
    return Store(**{table: pl.concat(some, rechunk=True) for table, some in frames.items()})


def _draw_shoppers(orders: int, catalogue: Catalogue, generator: random.Random) -> Iterator[Shopper]:
    missing = orders
    while missing:
        shopper = draw_shopper(catalogue, generator)
        # Towards the end only shoppers with few enough orders fit; cutting one short would falsify their leaving.
        if len(shopper.orders) <= missing:
            missing -= len(shopper.orders)
            yield shopper


def _order(order: Order) -> Row:
    moments = (order.delivery.approved, order.delivery.shipped, order.delivery.delivered)
    known = [each if each is not None and each < CLOSING else None for each in moments]
    status = _status(order, *known)
    return order.order_id, order.customer_id, status, order.purchased, *known, order.delivery.promised


def _status(order: Order, approved: datetime | None, shipped: datetime | None, delivered: datetime | None) -> str:
    if order.delivery.shipped is None and order.experience is not None:
        return "canceled"
    return "delivered" if delivered else "shipped" if shipped else "processing" if approved else "created"


def _customer(shopper: Shopper, order: Order) -> Row:
    address = shopper.address
    return order.customer_id, shopper.customer_unique_id, address.zip_prefix, address.city, address.state.code


def _items(order: Order) -> Iterator[Row]:
    limit = order.purchased + timedelta(days=6)
    for number, line in enumerate(order.lines, start=1):
        product = line.product
        yield order.order_id, number, product.product_id, product.seller.seller_id, limit, product.price, line.freight


def _payments(order: Order, generator: random.Random) -> Iterator[Row]:
    """Split the order's total into one payment, or into a voucher and another."""
    kind = "boleto" if order.by_boleto else generator.choices(*_KINDS)[0]
    split = kind != "voucher" and generator.random() < CHANCES["split"]
    voucher = round(order.total * generator.uniform(0.1, 0.6), 2) if split else 0.0
    rest = round(order.total - voucher, 2)
    instalments = _instalments(rest, generator) if kind == "credit_card" else 1
    yield order.order_id, 1, kind, instalments, rest
    if voucher:
        yield order.order_id, 2, "voucher", 1, voucher


def _instalments(total: float, generator: random.Random) -> int:
    most = min(len(INSTALMENTS), max(1, int(total // CHANCES["least_instalment"])))
    return generator.choices(range(1, most + 1), weights=INSTALMENTS[:most])[0]


def _review(shopper: Shopper, order: Order, rows: dict[str, list[Row]], generator: random.Random) -> None:
    created = order.asked.replace(hour=0, minute=0, second=0)
    longest = 4 * 86_400
    if order.delivery.delivered and created < order.delivery.delivered:
        # Who still waits when writing has not received it.
        longest = min(longest, int((order.delivery.delivered - created).total_seconds()) - 3_600)
    answered = created + timedelta(seconds=generator.randint(3_600, longest))
    experience = order.experience
    if experience is None or answered >= CLOSING or generator.random() >= CHANCES["review"]:
        return
    chance = CHANCES["message_with_complaint"] if experience.issues else CHANCES["message"]
    message, told = None, ""
    # A separate generator, so that changes in the word lists do not affect the orders.
    wording = random.Random(generator.getrandbits(64))
    title = write_title(experience, shopper.style, wording) if generator.random() < CHANCES["title"] else None
    if generator.random() < chance:
        thing, days_late = order.lines[0].product.thing, order.delivery.days_late
        message, told = write_message(experience, thing, days_late, shopper.style, wording)
    review_id = draw_id(generator)
    rows["reviews"].append((review_id, order.order_id, experience.score, title, message, created, answered))
    rows["review_causes"].append((review_id, *experience.causes().values(), told))


def _products(catalogue: Catalogue) -> Iterator[Row]:
    for product in catalogue.products:
        lengths = (product.name_length, product.description_length, product.photos)
        yield product.product_id, product.category.name, *lengths, product.weight, *product.measures


def _sellers(catalogue: Catalogue) -> Iterator[Row]:
    for seller in catalogue.sellers:
        yield seller.seller_id, seller.address.zip_prefix, seller.address.city, seller.address.state.code


def as_prompt_row(example: Example, source: str = "simulated") -> PromptRow:
    """Return an example of a store as a row of a prompt table."""
    content = (example.task, example.system, example.prompt, example.reference)
    return PromptRow(content_id(*content), *content, source, example.customer_id, example.order_id, example.review_id)
