"""Small tables of true numbers about a store: the material of insights.

The store is summed once by group and month. Each cell of a table is then the difference of two running sums, so that a
hundred thousand tables need no query.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from schemas.store.store import Store
from tasks.commerce.inputs import one_line
from tasks.commerce.text.portuguese import MONTHS, decimal, percent, readable_category, reais
from tasks.commerce.text.text_form import content_words

if TYPE_CHECKING:
    from polars import DataFrame

WEEKDAYS: Final = ("segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado", "domingo")
PAYMENTS: Final = {
    "credit_card": "cartão de crédito",
    "debit_card": "cartão de débito",
    "boleto": "boleto",
    "pix": "Pix",
    "voucher": "cupom",
}
ROWS: Final = (3, 4)
COLUMNS: Final = 3
BY_MONTH: Final = "Mês"
MIN_ORDERS: Final = 5
"""A row about fewer orders is not informative."""
WINDOW_MONTHS: Final = (2, 3, 4, 5, 6, 9, 12)
DIVISORS: Final = (5, 7)
"""Places of the sums that a measure divides by beside orders and items: delivered orders, and reviews."""
DRAWS: Final = 50
"""Consecutive failed draws after which the store counts as too small for a table."""

SUMS: Final = 8
Sums = tuple[int, ...]
"""Sums of a group in a period: orders, items, cents of price and of freight, late and delivered orders, stars, and
reviews of its orders."""


@dataclass(frozen=True)
class FactTable:
    """A small table as text, and its cells."""

    text: str
    cells: tuple[str, ...]
    """Each as `kind of row | row | column | figure`, row by row."""


@dataclass(frozen=True)
class Measure:
    """Column of numbers."""

    title: str
    value: Callable[[Sums], float]
    write: Callable[[float], str]
    known_by: int = 0
    """Place of the sum that is 0 in a store that does not know the measure."""


MEASURES: Final = (
    Measure("Receita", lambda sums: sums[2] / 100, reais),
    Measure("Atrasos", lambda sums: sums[4] / sums[5], percent, known_by=5),
    Measure("Nota média", lambda sums: sums[6] / sums[7], decimal, known_by=7),
    Measure("Pedidos", lambda sums: sums[0], lambda value: decimal(value, 0)),
    Measure("Ticket médio", lambda sums: sums[2] / 100 / sums[0], reais),
    Measure("Frete médio", lambda sums: sums[3] / 100 / sums[1], reais, known_by=3),
)


@dataclass(frozen=True)
class Ledger:
    """Running sums of a store's sales."""

    months: Sequence[date]
    """The first day of each month with sales, in order."""
    total: tuple[Sums, ...]
    """The sums of all sales of the first n months, n from 0 on."""
    dimensions: Mapping[str, Mapping[str, tuple[Sums, ...]]]
    """By the title of a grouping and the row: the sums of the first n months, n from 0 on."""
    measures: tuple[Measure, ...]
    """Those that the store knows, `COLUMNS` at least."""
    whole: range
    """The places of the months that the store covers from their first day to their last."""

    def enough(self, sums: Sums) -> bool:
        """Return whether a row has orders enough, and all that its measures divide by."""
        known = self.total[-1]
        return sums[0] >= MIN_ORDERS and all(sums[place] > 0 for place in DIVISORS if known[place])


def fact_tables(store: Store, generator: random.Random) -> Iterator[FactTable]:
    """Yield tables on random groups, columns and spans of months, without end; none if the store is too small.

    Each has the number of orders, and one of months has successive whole months in their order: so that small samples
    show, and a rise is one since the month before.
    """
    ledger = _sum_up(store)
    misses = 0
    while ledger.months and misses < DRAWS:
        table = _draw(ledger, generator)
        misses = 0 if table else misses + 1
        if table:
            yield table


def _draw(ledger: Ledger, generator: random.Random) -> FactTable | None:
    length = min(generator.choice(WINDOW_MONTHS), len(ledger.months))
    start = generator.randrange(len(ledger.months) - length + 1)
    title = generator.choice((*ledger.dimensions, BY_MONTH))
    if title == BY_MONTH:
        months = [month for month in range(start, start + length) if month in ledger.whole]
        spans = {_month_name(ledger.months[month]): _difference(ledger.total, month, month + 1) for month in months}
    else:
        of_groups = ledger.dimensions[title].items()
        spans = {name: _difference(running, start, start + length) for name, running in of_groups}
    sums = {name: each for name, each in spans.items() if ledger.enough(each)}
    rows = generator.choice(ROWS)
    if len(sums) < min(ROWS):
        return None
    if title == BY_MONTH:
        first = generator.randrange(max(1, len(sums) - rows + 1))
        names = list(sums)[first : first + rows]
    else:
        names = generator.sample(sorted(sums), min(rows, len(sums)))
    if not _tell_apart(names):
        return None
    drawn = {*generator.sample(range(len(ledger.measures)), COLUMNS)}
    drawn.add(next(place for place, measure in enumerate(ledger.measures) if measure.title == "Pedidos"))
    measures = [ledger.measures[place] for place in sorted(drawn)]
    figures = {name: [measure.write(measure.value(sums[name])) for measure in measures] for name in names}
    lines = [[title, *(measure.title for measure in measures)], *([name, *figures[name]] for name in names)]
    period = f"{_short_month(ledger.months[start])} a {_short_month(ledger.months[start + length - 1])}"
    return FactTable(
        figures_text(period, "\n".join(map(" | ".join, lines))),
        tuple(
            f"{title} | {name} | {measure.title} | {figure}"
            for name in names
            for measure, figure in zip(measures, figures[name], strict=True)
        ),
    )


def _difference(running: Sequence[Sums], start: int, end: int) -> Sums:
    return tuple(high - low for high, low in zip(running[end], running[start], strict=True))


def _tell_apart(names: Sequence[str]) -> bool:
    """Return whether each row's name has a word of its own, so that rows cannot be confused."""
    own = [set(content_words(name)) for name in names]
    return all(one - set().union(*(other for other in own if other is not one)) for one in own)


def figures_text(period: str, table: str) -> str:
    """Return a period and a table as a prompt shows them."""
    return f"Período: {one_line(period)}\n{table}"


def _month_name(day: date) -> str:
    return f"{MONTHS[day.month - 1]}/{day.year}"


def _short_month(day: date) -> str:
    return f"{MONTHS[day.month - 1][:3]}/{day.year}"


def _sum_up(store: Store) -> Ledger:
    import polars as pl

    sales = _sales(store)
    months = sales["month"].unique().sort().to_list()
    dimensions = {
        "Estado": _running(sales, "customer_state", months, _state),
        "Categoria": _running(sales, "product_category_name", months, readable_category),
        "Estado do vendedor": _running(sales, "seller_state", months, _state),
        "Pagamento": _running(sales, "payment_type", months, PAYMENTS.get),
        "Dia da compra": _running(sales, "weekday", months, lambda day: WEEKDAYS[day - 1]),
    }
    of_all = _running(sales.with_columns(whole=pl.lit("")), "whole", months, str)
    total = of_all.get("", ((0,) * SUMS,))
    measures = tuple(measure for measure in MEASURES if total[-1][measure.known_by])
    return Ledger(months, total, dimensions, measures, _whole_months(store, months))


def _whole_months(store: Store, months: Sequence[date]) -> range:
    bought = store.orders["order_purchase_timestamp"]
    first, last = bought.min(), bought.max()
    if not months or not isinstance(first, datetime) or not isinstance(last, datetime):
        return range(0)
    cut_at_start = first.date() > months[0]
    return range(int(cut_at_start), len(months) - int((last + timedelta(days=1)).month == last.month))


def _added(one: Sums, other: Sums) -> Sums:
    return tuple(map(sum, zip(one, other, strict=True)))


def _state(code: str) -> str:
    # In lower case SE is the word "se", and a reader of the text could not distinguish them.
    return "Sergipe" if code == "SE" else code


def _running(
    sales: "DataFrame", column: str, months: Sequence[date], name_of: Callable[[Any], str | None]
) -> dict[str, tuple[Sums, ...]]:
    import polars as pl

    grouped = sales.drop_nulls(column)
    by_item = grouped.group_by(column, "month").agg(pl.len().alias("items"), pl.sum("cents", "freight_cents"))
    # An order is late once, and rated once, however many items of the group it has.
    by_order = (
        grouped.unique([column, "order_id"])
        .group_by(column, "month")
        .agg(
            pl.len().alias("orders"),
            pl.sum("late"),
            pl.col("late").count().alias("delivered"),
            pl.sum("stars", "rated"),
        )
    )
    table = (
        by_order.join(by_item, on=[column, "month"])
        .sort(column, "month")
        .select(column, "month", "orders", "items", "cents", "freight_cents", "late", "delivered", "stars", "rated")
    )
    place = {month: number for number, month in enumerate(months)}
    zeros = (0,) * SUMS
    monthly: dict[str, list[Sums]] = {}
    for group, month, *sums in table.rows():
        name = name_of(group)
        if name is not None:
            monthly.setdefault(name, [zeros] * len(months))[place[month]] = tuple(sums)
    return {name: tuple(accumulate(sums, _added, initial=zeros)) for name, sums in monthly.items()}


def _sales(store: Store) -> "DataFrame":
    """Return one row per item, with the values and groups of `Sums`."""
    import polars as pl

    delivered, promised = pl.col("order_delivered_customer_date"), pl.col("order_estimated_delivery_date")
    bought = pl.col("order_purchase_timestamp")
    ratings = store.reviews.group_by("order_id").agg(stars=pl.sum("review_score"), rated=pl.len())
    # An order paid in several ways counts under the one that paid most.
    payments = store.payments.sort("order_id", "payment_value", "payment_type").group_by("order_id").last()
    return (
        store.items.join(store.orders, on="order_id")
        .join(store.customers, on="customer_id")
        .join(store.products, on="product_id")
        .join(store.sellers, on="seller_id")
        .join(ratings, on="order_id", how="left")
        .join(payments.select("order_id", "payment_type"), on="order_id", how="left")
        .select(
            "order_id",
            "customer_state",
            "product_category_name",
            "seller_state",
            "payment_type",
            weekday=bought.dt.weekday(),
            month=bought.dt.date().dt.truncate("1mo"),
            cents=(pl.col("price") * 100).round().cast(pl.Int64),
            freight_cents=(pl.col("freight_value") * 100).round().cast(pl.Int64),
            late=(delivered.dt.date() > promised.dt.date()).cast(pl.Int64),
            stars=pl.col("stars").fill_null(0),
            rated=pl.col("rated").fill_null(0),
        )
    )
