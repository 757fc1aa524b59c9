"""Tables of a store's figures: every figure of a thousand, computed again row by row, and their form."""

import random
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

import pytest

from schemas.store.files import read_store
from schemas.store.store import Store
from tasks.commerce.insights.prompts import PAYMENTS, WEEKDAYS, cells_of, fact_tables
from tasks.commerce.text.portuguese import MONTHS, readable_category
from tasks.synthesize.simulated import simulate_store
from tests.schemas.olist_sample import SAMPLE, needs_sample

NAMES = {"SE": "Sergipe"}


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
            bought, category = order["order_purchase_timestamp"], categories[item["product_id"]]
            names = {
                "Mês": f"{MONTHS[bought.month - 1]}/{bought.year}",
                "Estado": NAMES.get(state := states[order["customer_id"]], state),
                "Categoria": category and readable_category(category),
                "Estado do vendedor": NAMES.get(state := sellers[item["seller_id"]], state),
                "Pagamento": PAYMENTS.get(paid[item["order_id"]][1]) if item["order_id"] in paid else None,
                "Dia da compra": WEEKDAYS[bought.weekday()],
            }
            for title, name in names.items():
                self.lines[title, name].append(((bought.year, bought.month), item))

    def figures(self, title: str, name: str, first: tuple[int, int], last: tuple[int, int]) -> Mapping[str, float]:
        sold = [item for month, item in self.lines[title, name] if first <= month <= last]
        orders = {item["order_id"] for item in sold}
        arrived = [self.orders[order] for order in orders if self.orders[order]["order_delivered_customer_date"]]
        late = [
            each["order_delivered_customer_date"].date() > each["order_estimated_delivery_date"].date()
            for each in arrived
        ]
        stars = [score for order in orders for score in self.stars[order]]
        revenue = sum(item["price"] for item in sold)
        return {
            "Receita": revenue,
            "Atrasos": 100 * sum(late) / len(arrived),
            "Nota média": sum(stars) / len(stars),
            "Pedidos": len(orders),
            "Ticket médio": revenue / len(orders),
            "Frete médio": sum(item["freight_value"] for item in sold) / len(sold),
        }


def check(store: Store, *, sells_each_month: bool) -> None:
    records, short = Records(store), [month[:3] for month in MONTHS]
    for table in islice(fact_tables(store, random.Random(1)), 1_000):
        found = re.match(r"Período: (\w{3})/(\d{4}) a (\w{3})/(\d{4})\n", table)
        assert found
        first, last = (int(found[2]), short.index(found[1]) + 1), (int(found[4]), short.index(found[3]) + 1)
        columns, names = set(), dict.fromkeys(cell.split(" | ")[1] for cell in cells_of(table))
        for cell in cells_of(table):
            title, name, column, written = cell.split(" | ")
            columns.add(column)
            digits = re.sub(r"[^\d,-]", "", written)
            true = records.figures(title, name, first, last)[column]
            close = 0.5 * 10 ** -len(digits.partition(",")[2]) + 1e-6
            assert float(digits.replace(",", ".")) == pytest.approx(true, abs=close), (table, name, column)
        assert "Pedidos" in columns and 3 <= len(names) <= 4
        if title == "Mês" and sells_each_month:
            places = [12 * int(name[-4:]) + MONTHS.index(name[:-5]) for name in names]
            assert places == list(range(places[0], places[0] + len(places)))


def test_every_figure_of_a_simulated_store_is_what_its_rows_say_and_months_follow_one_another() -> None:
    check(simulate_store(1_500, random.Random(5)), sells_each_month=True)


@needs_sample
@pytest.mark.slow
def test_every_figure_of_a_real_store_is_what_its_rows_say() -> None:
    check(read_store(SAMPLE), sells_each_month=False)


def test_a_store_that_is_too_small_has_no_tables(store: Store) -> None:
    for few in (3, 0):
        assert not list(fact_tables(replace(store, items=store.items.head(few)), random.Random(1)))
