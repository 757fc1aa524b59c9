"""Small tables of true numbers about a store: the material of insights."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from schemas.store import Store
from tasks.commerce.categories import readable_category
from tasks.commerce.portuguese_numbers import decimal, percent, reais

if TYPE_CHECKING:
    from polars import DataFrame

MONTHS: Final = ("jan", "fev", "mar", "abr", "mai", "jun", "jul", "ago", "set", "out", "nov", "dez")
DIMENSIONS: Final = {"Estado": "customer_state", "Categoria": "product_category_name"}
ROWS: Final = 3
MIN_ORDERS: Final = 5
"""A row about fewer orders tells nothing of the store."""
WINDOW_MONTHS: Final = (2, 3, 4, 6, 9)
ATTEMPTS_PER_TABLE: Final = 20


@dataclass(frozen=True)
class FactTable:
    """A small table as text, and each of its cells as a fact that can stand alone."""

    text: str
    facts: tuple[str, ...]
    """The most telling first: the highest revenue, the worst lateness, the lowest rating."""


def fact_tables(store: Store, generator: random.Random, count: int) -> Iterator[FactTable]:
    """Yield tables on random states or categories in random spans of months, no two the same."""
    sales = _sales(store)
    months = sales["month"].unique().sort().to_list()
    seen: set[str] = set()
    for _ in range(count * ATTEMPTS_PER_TABLE):
        if len(seen) == count:
            return
        table = _draw(sales, months, generator)
        if table is not None and table.text not in seen:
            seen.add(table.text)
            yield table


def _sales(store: Store) -> "DataFrame":
    """Return one row an item: month, state, category, price, whether it came late, and its order's rating."""
    import polars as pl

    delivered, promised = pl.col("order_delivered_customer_date"), pl.col("order_estimated_delivery_date")
    return (
        store.items.join(store.orders, on="order_id")
        .join(store.customers, on="customer_id")
        .join(store.products, on="product_id")
        .join(store.reviews.group_by("order_id").agg(rating=pl.mean("review_score")), on="order_id", how="left")
        .select(
            "order_id",
            "customer_state",
            "product_category_name",
            "price",
            "rating",
            month=pl.col("order_purchase_timestamp").dt.date().dt.truncate("1mo"),
            late=(delivered.dt.date() > promised.dt.date()),
        )
        .sort("order_id")
    )


def _draw(sales: "DataFrame", months: list[date], generator: random.Random) -> FactTable | None:
    import polars as pl

    title, column = generator.choice(tuple(DIMENSIONS.items()))
    length = min(generator.choice(WINDOW_MONTHS), len(months))
    start = generator.randrange(len(months) - length + 1)
    first, last = months[start], months[start + length - 1]
    groups = (
        sales.filter(pl.col("month").is_between(first, last), pl.col(column).is_not_null())
        .group_by(column)
        .agg(pl.n_unique("order_id").alias("orders"), pl.sum("price"), pl.mean("late"), pl.mean("rating"))
        .filter(pl.col("orders") >= MIN_ORDERS, pl.col("late").is_not_null(), pl.col("rating").is_not_null())
        .sort(column)
        .rows(named=True)
    )
    if len(groups) < ROWS:
        return None
    rows = generator.sample(groups, ROWS)
    return _table(title, column, rows, f"{_month(first)} a {_month(last)}")


def _table(title: str, column: str, rows: list[dict[str, Any]], period: str) -> FactTable:
    names = [readable_category(row[column]) if title == "Categoria" else row[column] for row in rows]
    lines = [
        f"{name} | {reais(row['price'])} | {percent(row['late'])} | {decimal(row['rating'])}"
        for name, row in zip(names, rows, strict=True)
    ]
    revenues = [f"{name}: receita de {reais(row['price'])}" for name, row in zip(names, rows, strict=True)]
    delays = [f"{name}: {percent(row['late'])} de atrasos" for name, row in zip(names, rows, strict=True)]
    ratings = [f"{name}: nota média {decimal(row['rating'])}" for name, row in zip(names, rows, strict=True)]
    ranked = zip(
        _ranked(revenues, [-row["price"] for row in rows]),
        _ranked(delays, [-row["late"] for row in rows]),
        _ranked(ratings, [row["rating"] for row in rows]),
        strict=True,
    )
    facts = tuple(fact for rank in ranked for fact in rank)
    header = f"Período: {period}\n{title} | Receita | Atrasos | Nota média"
    return FactTable("\n".join([header, *lines]), facts)


def _ranked(facts: Sequence[str], order: Sequence[float]) -> list[str]:
    return [fact for _, fact in sorted(zip(order, facts, strict=True))]


def _month(day: date) -> str:
    return f"{MONTHS[day.month - 1]}/{day.year}"
