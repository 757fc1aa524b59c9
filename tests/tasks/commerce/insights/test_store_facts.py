"""Tables of a store's figures: every figure of a thousand, computed again row by row, and their form."""

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any

import pytest

from schemas.store.files import read_store
from schemas.store.store import Store
from tasks.commerce.insights.prompts import FactTable, fact_tables
from tasks.commerce.text.portuguese import readable_category
from tasks.synthesize.simulated import simulate_store
from tests.schemas.olist_sample import SAMPLE, needs_sample

TABLES = 1_000
MONTHS = (
    *("janeiro", "fevereiro", "março", "abril", "maio", "junho"),
    *("julho", "agosto", "setembro", "outubro", "novembro", "dezembro"),
)
WEEKDAYS = ["segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado", "domingo"]
PAYMENTS = {
    "credit_card": "cartão de crédito",
    "debit_card": "cartão de débito",
    "boleto": "boleto",
    "voucher": "cupom",
}


@dataclass
class Sold:
    """What a row of a table is about."""

    prices: list[float] = field(default_factory=list)
    freights: list[float] = field(default_factory=list)
    orders: set[str] = field(default_factory=set)


class Records:
    """A store's rows, as a person with a calculator would look them up."""

    def __init__(self, store: Store) -> None:
        self.orders = {order["order_id"]: order for order in store.orders.to_dicts()}
        self.stars = defaultdict(list)
        for review in store.reviews.to_dicts():
            self.stars[review["order_id"]].append(review["review_score"])
        states = {each["customer_id"]: each["customer_state"] for each in store.customers.to_dicts()}
        categories = {each["product_id"]: each["product_category_name"] for each in store.products.to_dicts()}
        sellers = {each["seller_id"]: each["seller_state"] for each in store.sellers.to_dicts()}
        paid: dict[str, tuple[float, str]] = {}
        for payment in store.payments.to_dicts():
            order, most = payment["order_id"], (payment["payment_value"], payment["payment_type"])
            paid[order] = max(paid.get(order, most), most)
        self.lines = defaultdict(list)
        for item in store.items.to_dicts():
            order = self.orders[item["order_id"]]
            bought: datetime = order["order_purchase_timestamp"]
            names = {
                "Mês": f"{MONTHS[bought.month - 1]}/{bought.year}",
                "Estado": _state(states[order["customer_id"]]),
                "Categoria": category and readable_category(category)
                if (category := categories[item["product_id"]])
                else None,
                "Estado do vendedor": _state(sellers[item["seller_id"]]),
                "Pagamento": PAYMENTS.get(paid[item["order_id"]][1]) if item["order_id"] in paid else None,
                "Dia da compra": WEEKDAYS[bought.weekday()],
            }
            for title, name in names.items():
                self.lines[title, name].append(((bought.year, bought.month), item))

    def sold(self, title: str, name: str, first: tuple[int, int], last: tuple[int, int]) -> Sold:
        found = Sold()
        for month, item in self.lines[title, name]:
            if first <= month <= last:
                found.prices.append(item["price"])
                found.freights.append(item["freight_value"])
                found.orders.add(item["order_id"])
        return found

    def figures(self, sold: Sold) -> Mapping[str, float]:
        arrived = [self.orders[order] for order in sold.orders if self.orders[order]["order_delivered_customer_date"]]
        late = [order for order in arrived if _late(order)]
        stars = [score for order in sold.orders for score in self.stars[order]]
        return {
            "Receita": sum(sold.prices),
            "Atrasos": 100 * len(late) / len(arrived),
            "Nota média": sum(stars) / len(stars),
            "Pedidos": len(sold.orders),
            "Ticket médio": sum(sold.prices) / len(sold.orders),
            "Frete médio": sum(sold.freights) / len(sold.freights),
        }


def _late(order: Mapping[str, Any]) -> bool:
    delivered, promised = order["order_delivered_customer_date"], order["order_estimated_delivery_date"]
    return bool(delivered.date() > promised.date())


def _state(code: str) -> str:
    return {"SE": "Sergipe"}.get(code, code)


def _number(written: str) -> tuple[float, int]:
    """Read a number as it is written in Brazil, with its decimal places."""
    digits = re.sub(r"[^\d,-]", "", written)
    return float(digits.replace(",", ".")), len(digits.partition(",")[2])


def _cells(table: FactTable) -> Iterator[tuple[str, str, str, str]]:
    """Yield title, row, column and number of each cell."""
    _, header, *rows = table.text.split("\n")
    title, *columns = header.split(" | ")
    for row in rows:
        name, *numbers = row.split(" | ")
        yield from ((title, name, column, number) for column, number in zip(columns, numbers, strict=True))


def _months(table: FactTable) -> tuple[tuple[int, int], tuple[int, int]]:
    short = [month[:3] for month in MONTHS]
    found = re.match(r"Período: (\w{3})/(\d{4}) a (\w{3})/(\d{4})\n", table.text)
    assert found
    return (int(found[2]), short.index(found[1]) + 1), (int(found[4]), short.index(found[3]) + 1)


def check(store: Store, tables: int) -> None:
    records, checked = Records(store), 0
    for table in islice(fact_tables(store, random.Random(1)), tables):
        first, last = _months(table)
        for title, name, column, written in _cells(table):
            true = records.figures(records.sold(title, name, first, last))[column]
            number, places = _number(written)
            assert number == pytest.approx(true, abs=0.5 * 10**-places + 1e-6), (table.text, name, column)
            checked += 1
    assert checked >= 9 * tables


def test_every_figure_of_a_simulated_store_is_what_its_rows_say() -> None:
    check(simulate_store(1_500, random.Random(5)), TABLES)


@needs_sample
def test_every_figure_of_a_real_store_is_what_its_rows_say() -> None:
    check(read_store(SAMPLE), TABLES)


def draw(store: Store, seed: int, count: int) -> list[FactTable]:
    return list(islice(fact_tables(store, random.Random(seed)), count))


def test_the_cells_are_those_of_the_table_and_one_column_counts_the_orders(store: Store) -> None:
    for table in draw(store, 1, 200):
        title, *columns = table.text.splitlines()[1].split(" | ")
        rows = [line.split(" | ") for line in table.text.splitlines()[2:]]
        assert list(table.cells) == [
            f"{title} | {name} | {column} | {figure}"
            for name, *figures in rows
            for column, figure in zip(columns, figures, strict=True)
        ]
        assert "Pedidos" in columns
        assert 3 <= len(rows) <= 4


def test_a_store_that_is_too_small_has_no_tables(store: Store) -> None:
    assert draw(replace(store, items=store.items.head(3)), 1, 5) == []
    assert draw(replace(store, items=store.items.head(0)), 1, 5) == []
