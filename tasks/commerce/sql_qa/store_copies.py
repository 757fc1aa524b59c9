"""Store copies on which generated SQL is judged: a part of the given store, and that part with other values.

A query without a filter or a join can be right by luck on one store; it is wrong on one whose values follow no pattern
of the first. Cases at a limit, in the last second of a month, of repeated rows and ties are rare on most stores; the
other copies have many.
"""

import hashlib
import random
import tomllib
from calendar import monthrange
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from schemas.store.store import Store

if TYPE_CHECKING:
    from polars import DataFrame

MAX_ORDERS: Final = 1_500
"""Orders of the part that queries run on, so that a query takes as long on a large store as on a small one: a reference
query takes a fifth of a millisecond, and most combinations of a category and a state still have rows."""


class Filling(NamedTuple):
    """Differences of a copy from the store that it is made from."""

    seed: int
    orders: float
    """Share of the orders. Where it is 1, every table keeps its number of rows: no count tells the copy from the store
    that it is made from, and a constant that is right on one is wrong on the other."""
    at_limits: float
    """Share of the prices, freights and payments set to a round sum that questions use, or beside it."""
    step: int
    """Stride through these sums: few distinct values make ties."""


OTHER: Final = Filling(20_180_901, orders=1.0, at_limits=0.9, step=1)
TIED: Final = Filling(20_180_902, orders=0.35, at_limits=1.0, step=4)
DATA_FILES: Final = ("data/sql/copies.toml",)


def read_values(name: str) -> dict[str, Any]:
    """Return what a file of `data/sql` holds; the ground truth imports this room, and so nothing of the rewards."""
    file = Path(__file__).resolve().parents[3] / "data" / "sql" / name
    return tomllib.loads(file.read_text(encoding="utf-8"))


_VALUES: Final = read_values("copies.toml")
LIMITS: Final[Mapping[str, Sequence[int]]] = _VALUES["sums"]
REPEATED: Final = 0.5
"""Share of the items, payments and reviews with a second row in the same order, where a copy may have more rows."""
OTHER_INSTALMENTS, UNCATEGORISED = 0.2, 0.05
"""Shares of the payments with instalments of another type, and of the products without a category: a store may have
none of either, and a condition against them would change nothing."""
RETURNING, ON_LIMIT_DAY = 0.4, 0.3
"""Shares of the orders of returning shoppers, and of deliveries on the estimated day or after a time of questions."""
ITEMS_A_SELLER: Final = 2  # Items per seller, at the fewest sellers, so that sellers tie.


def cut(store: Store) -> Store:
    """Return the part of a store that queries are judged on: at most `MAX_ORDERS` orders with their related rows.

    Whole shoppers are kept, by the hash of their identifier, but for the last; cutting a part again returns the part.
    """
    if store.orders.height <= MAX_ORDERS:
        return store
    people = dict(store.customers.select("customer_id", "customer_unique_id").iter_rows())
    orders = store.orders.select("order_id", "customer_id").iter_rows()
    ranked = sorted((_hash(people.get(customer, customer)), order) for order, customer in orders)
    kept = [order for _, order in ranked[:MAX_ORDERS]]
    tables = {
        name: _only(getattr(store, name), "order_id", kept) for name in ("orders", "items", "payments", "reviews")
    }
    return replace(
        store,
        **tables,
        customers=_only(store.customers, "customer_id", tables["orders"]["customer_id"].to_list()),
        products=_only(store.products, "product_id", tables["items"]["product_id"].to_list()),
        sellers=_only(store.sellers, "seller_id", tables["items"]["seller_id"].to_list()),
    )


def refill(store: Store, filling: Filling) -> Store:
    """Return a store with part of the orders, and with other values in its rows.

    Valid assumptions of queries stay true: a delivered order has a date, no earlier than the purchase; a shopper lives
    in one state; every order has a customer, and every customer, product and seller an order.
    """
    generator = random.Random(filling.seed)
    order_ids = sorted(store.orders["order_id"].to_list())
    kept = generator.sample(order_ids, max(1, round(filling.orders * len(order_ids))))
    whole = filling.orders == 1.0
    bought = _bought_otherwise(_only(store.orders, "order_id", kept), generator)
    orders = _delivered_otherwise(bought, store.orders, generator)
    customers = _only(store.customers, "customer_id", orders["customer_id"].to_list())
    customers = _living_elsewhere(customers, generator)

    def rows_of(frame: "DataFrame") -> "DataFrame":
        return _of_other_orders(frame, order_ids, generator) if whole else _only(frame, "order_id", kept)

    def numbered(frame: "DataFrame", key: str) -> "DataFrame":
        return _numbered(frame if whole else _repeated(frame, generator), key)

    items = rows_of(store.items)
    sellers = _sellers(store.sellers, 0 if whole else items.height // ITEMS_A_SELLER, generator)
    for key, table in (("product_id", store.products), ("seller_id", sellers)):
        drawn = _drawn(table[key].to_list(), items, generator, each=whole) or items[key].to_list()
        items = _with(items, key, drawn)
    for name in ("price", "freight_value"):
        items = _at_limits(items, name, filling, generator)
    payments = _refilled(rows_of(store.payments), "payment_type", ("order_id",), generator)
    instalments = payments["payment_installments"].to_list()
    others = [generator.choice(instalments) if generator.random() < OTHER_INSTALMENTS else own for own in instalments]
    payments = _at_limits(_with(payments, "payment_installments", others), "payment_value", filling, generator)
    reviews = _refilled(rows_of(store.reviews), "review_score", ("order_id", "review_id"), generator)
    products = _refilled(store.products, "product_category_name", ("product_id",), generator)
    categories = [None if generator.random() < UNCATEGORISED else own for own in products["product_category_name"]]
    products = _with(products, "product_category_name", categories)
    return replace(
        store,
        orders=orders,
        items=numbered(items, "order_item_id"),
        payments=numbered(payments, "payment_sequential"),
        reviews=numbered(reviews, "review_id"),
        customers=customers,
        products=_only(products, "product_id", items["product_id"].to_list()),
        sellers=_only(sellers, "seller_id", items["seller_id"].to_list()),
    )


def _only(frame: "DataFrame", key: str, values: list[str]) -> "DataFrame":
    import polars as pl

    return frame.filter(pl.col(key).is_in(values))


def _with(frame: "DataFrame", column: str, values: list[Any]) -> "DataFrame":
    import polars as pl

    return frame.with_columns(pl.Series(column, values, frame.schema[column]))


def _of_other_orders(frame: "DataFrame", order_ids: list[str], generator: random.Random) -> "DataFrame":
    """Give each order the rows of another, as many rows in all."""
    others = dict(zip(order_ids, generator.sample(order_ids, len(order_ids)), strict=True))
    moved = [others.get(order, order) for order in frame["order_id"]]
    return _with(frame, "order_id", moved).sort("order_id", maintain_order=True)


def _drawn(keys: list[str], items: "DataFrame", generator: random.Random, *, each: bool) -> list[str]:
    """Draw a key for each item, none where there are none; an order's items stand one after another.

    Where each key must stay in use, further items of an order repeat the one before as far as all keys have room.
    """
    if not keys:
        return []
    if not each:
        return generator.choices(keys, k=items.height)
    order_ids = items["order_id"].to_list()
    further = [place for place in range(1, len(order_ids)) if order_ids[place] == order_ids[place - 1]]
    most = max(len(order_ids) - len(keys), 0)
    repeats = set(generator.sample(further, min(len(further), most)))
    count = len(order_ids) - len(repeats)
    drawn = generator.sample(keys, min(count, len(keys)))
    drawn += generator.choices(keys, k=count - len(drawn))
    generator.shuffle(drawn)
    left, found = iter(drawn), list[str]()
    for place in range(len(order_ids)):
        found.append(found[-1] if place in repeats else next(left))
    return found


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def _donors(values: Sequence[Any], count: int, generator: random.Random) -> list[int]:
    """Draw row indices, half of them so that every value is equally frequent: rare ones have rows too."""
    places: defaultdict[Any, list[int]] = defaultdict(list)
    for place, value in enumerate(values):
        places[value].append(place)
    kinds = sorted(places, key=str)
    evenly = [generator.choice(places[kinds[turn % len(kinds)]]) for turn in range(max(count // 2, len(kinds)))][:count]
    donors = evenly + generator.choices(range(len(values)), k=count - len(evenly))
    generator.shuffle(donors)
    return donors


def _refilled(frame: "DataFrame", column: str, keys: tuple[str, ...], generator: random.Random) -> "DataFrame":
    """Give each row the values of another one as a unit, so that they remain consistent; the keys stay."""
    if frame.is_empty():
        return frame
    values = frame[_donors(frame[column].to_list(), frame.height, generator)]
    return frame.with_columns(values[name] for name in frame.columns if name not in keys)


def _bought_otherwise(orders: "DataFrame", generator: random.Random) -> "DataFrame":
    """Give each order a moment near another's purchase, as the same orders have as many in each month."""
    name = "order_purchase_timestamp"
    moments = orders[name].to_list()
    drawn = _donors([(moment.year, moment.month) for moment in moments], len(moments), generator)
    return _with(orders, name, [_at_limit(moments[place], generator) for place in drawn])


def _at_limit(moment: datetime, generator: random.Random) -> datetime:
    """Return the moment, or the first or last second of its month, the last of its year, or a time of questions."""
    last = moment.replace(day=monthrange(moment.year, moment.month)[1], hour=23, minute=59, second=59, microsecond=0)
    timed = datetime.combine(moment, time.fromisoformat(generator.choice(_VALUES["times"])))
    first = datetime.combine(moment.replace(day=1), time())
    return generator.choice((moment, first, last, last.replace(month=12, day=31), timed, timed))


def _delivered_otherwise(orders: "DataFrame", given: "DataFrame", generator: random.Random) -> "DataFrame":
    """Give each order the status of another, and its dates by their distance from the purchase."""
    import polars as pl

    delivered = pl.col("order_delivered_customer_date").is_not_null()
    fitting = given.filter(delivered == (pl.col("order_status") == "delivered"))
    given = fitting if fitting.height else given
    donors = given[_donors(given["order_status"].to_list(), orders.height, generator)].to_dicts()
    bought = orders["order_purchase_timestamp"].to_list()
    keys = orders.select("order_id", "customer_id").to_dicts()
    rows = [_moved(*each, generator) | own for *each, own in zip(donors, bought, keys, strict=True)]
    return pl.DataFrame(rows, schema=orders.schema)


def _moved(donor: dict[str, Any], bought: datetime, generator: random.Random) -> dict[str, Any]:
    since = bought - donor["order_purchase_timestamp"]
    order = {name: value + since if isinstance(value, datetime) else value for name, value in donor.items()}
    order["order_purchase_timestamp"] = bought
    promised = order["order_estimated_delivery_date"]
    if promised is not None:
        promised = promised.replace(hour=0, minute=0, second=0, microsecond=0)
        order["order_estimated_delivery_date"] = promised
    if order["order_delivered_customer_date"] is None:
        return order
    drawn = generator.random()
    if drawn < ON_LIMIT_DAY and promised is not None and promised > bought:
        order["order_delivered_customer_date"] = promised + timedelta(minutes=generator.randrange(1, 24 * 60))
    elif drawn > 1 - ON_LIMIT_DAY:
        order["order_delivered_customer_date"] = bought + timedelta(days=generator.choice(_VALUES["days"]))
    return order


def _living_elsewhere(customers: "DataFrame", generator: random.Random) -> "DataFrame":
    """Replace some shoppers by others, who return, and give each of them one other place."""
    everyone = sorted(set(customers["customer_unique_id"]))
    people = generator.sample(everyone, max(1, round((1 - RETURNING) * len(everyone))))
    drawn = people + generator.choices(people, k=customers.height - len(people))
    generator.shuffle(drawn)
    homes = dict(zip(people, _donors(customers["customer_state"].to_list(), len(people), generator), strict=True))
    places = customers[[homes[person] for person in drawn]].with_columns(customers["customer_id"])
    return _with(places, "customer_unique_id", drawn)


def _sellers(sellers: "DataFrame", fewest: int, generator: random.Random) -> "DataFrame":
    if sellers.is_empty():
        return sellers
    more = [_hash(f"seller {number}").hex() * 2 for number in range(fewest - sellers.height)]
    seller_ids = sellers["seller_id"].to_list() + more
    rows = sellers[_donors(sellers["seller_state"].to_list(), len(seller_ids), generator)]
    return _with(rows, "seller_id", seller_ids)


def _repeated(frame: "DataFrame", generator: random.Random) -> "DataFrame":
    places = range(frame.height)
    return frame[sorted([*places, *generator.sample(places, round(REPEATED * len(places)))])]


def _numbered(frame: "DataFrame", key: str) -> "DataFrame":
    """Renumber an order's rows, so that the repeated ones have keys of their own."""
    import polars as pl

    number = pl.int_range(1, pl.len() + 1).over("order_id").cast(pl.Int64)
    if frame.schema[key] == pl.String:
        number = pl.concat_str(pl.col("order_id").str.head(28), pl.lit("r"), number.cast(pl.String))
    return frame.with_columns(number.alias(key))


def _at_limits(frame: "DataFrame", column: str, filling: Filling, generator: random.Random) -> "DataFrame":
    """Resample a column's values, and set a share of them to the limits and beside them, each equally often."""
    at_limits = round(filling.at_limits * frame.height)
    sums = [limit + more for limit in LIMITS[column][:: filling.step] for more in (0, 1, -1)]
    limits = [float(sums[turn % len(sums)]) for turn in range(at_limits)]
    values = limits + generator.choices(frame[column].to_list(), k=frame.height - at_limits) if frame.height else []
    generator.shuffle(values)
    return _with(frame, column, values)
