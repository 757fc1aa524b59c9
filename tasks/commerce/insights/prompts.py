"""Prompts of insights: a period and a small table, as one copies it from a spreadsheet or as the store has it.

The store is summed once by group and month, and each cell of a table adds some of these sums: many need one query.
"""

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import AfterValidator, Field

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.inputs import LONGEST_TEXT, Name, TaskInputs, one_line
from tasks.commerce.insights.table import FRAMES, MAX_ROWS
from tasks.commerce.text.lexicons import read_data, read_wording
from tasks.commerce.text.portuguese import MONTHS, decimal, percent, readable_category, reais
from tasks.commerce.text.text_form import content_words

if TYPE_CHECKING:
    from polars import DataFrame

DATA_FILES: Final = ("data/wordings/insights.toml",)
WORDING: Final = read_wording("insights")
_BETWEEN_CELLS: Final = re.compile(r"[|;\t]")
_RULE: Final = re.compile(r"[\s|:+-]*-[\s|:+-]*")
"""The line that only separates a Markdown table's header from its rows."""
_SEPARATOR: Final = re.compile(r"^\ufeff?(?:sep=.\r?\n)?")  # Before the header of a spreadsheet's export.


def normalized_table(text: str) -> str:
    """Return a table with ` | ` between its cells; it may be written with tabs, semicolons or as Markdown.

    ValueError where it has no rows, too many, or rows that are not as wide as its header.
    """
    lines = [line.strip(" ") for line in _SEPARATOR.sub("", text).splitlines() if line.strip()]
    lines = [line for number, line in enumerate(lines) if number != 1 or not _RULE.fullmatch(line)]
    if lines and lines[0].startswith("|"):
        # Signs that stand around the lines, and not between cells.
        lines = [line.removeprefix("|").removesuffix("|") for line in lines]
    rows = [[" ".join(cell.split()) for cell in _BETWEEN_CELLS.split(line)] for line in lines]
    if len(rows) < 2:
        raise ValueError("a table has a line with the columns' names and at least one row, with |, ; or tabs between")
    if len(rows) > MAX_ROWS + 1:
        raise ValueError(f"the table has {len(rows) - 1} rows, and at most {MAX_ROWS} are read")
    if len(rows[0]) < 2:
        raise ValueError("a table has a column of names and one of numbers")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise ValueError(f"line {number} of the table has {len(row)} cells, and its header {len(rows[0])}")
    return "\n".join(" | ".join(row) for row in rows)


class InsightsInputs(TaskInputs):
    """Inputs of one analysis."""

    period: Name = Field(description="The period, such as `jan/2025 a mar/2025`")
    table: Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(normalized_table)] = Field(
        description="The table: a line of column names, then a line a row, with |, ; or tabs between cells"
    )

    def prompt(self, instruction: str) -> str:
        """Return the prompt."""
        return f"{instruction}\n{_figures_text(self.period, self.table)}"


def _figures_text(period: str, table: str) -> str:
    return f"Período: {one_line(period)}\n{table}"


WEEKDAYS: Final = (*FRAMES.dias,)
PAYMENTS: Final[Mapping[str, str]] = read_data("wordings/insights.toml")["pagamentos"]
ROWS, COLUMNS = (3, 4), 3
BY_MONTH: Final = "Mês"
MIN_ORDERS: Final = 5
WINDOW_MONTHS: Final = (2, 3, 4, 5, 6, 9, 12)
DRAWS, MISSES = 50, 1_000  # Failed draws in a row after which a store is too small, and known ones: it is used up.
SUMMED: Final = ("orders", "items", "cents", "freight_cents", "late", "delivered", "stars", "rated")
Measure = tuple[int, Callable[[Sequence[int]], float], Callable[[float], str]]
MEASURES: Final[Mapping[str, Measure]] = {
    "Receita": (0, lambda sums: sums[2] / 100, reais),
    "Atrasos": (5, lambda sums: sums[4] / sums[5], percent),
    "Nota média": (7, lambda sums: sums[6] / sums[7], decimal),
    "Pedidos": (0, lambda sums: sums[0], lambda value: decimal(value, 0)),
    "Ticket médio": (0, lambda sums: sums[2] / 100 / sums[0], reais),
    "Frete médio": (3, lambda sums: sums[3] / 100 / sums[1], reais),
}
"""By the title of a column the place of the sum without which its figures are unknown, and how they are written."""


Sums = Mapping[str, Mapping[str, Mapping[int, Sequence[int]]]]
"""Sums of sales by the title of a grouping, the row and the place of the month; the grouping by month is the last."""


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples on small tables, whose references are the tables' cells; a table repeats in another wording only.

    There are at most `count`, and fewer where hardly any draw is new.
    """
    seen: set[int] = set()
    misses = 0
    for table in fact_tables(store, generator) if count else ():
        prompt = f"{generator.choice(WORDING.instructions)}\n{table}"
        misses = misses + 1 if hash(prompt) in seen else 0
        if misses == MISSES:
            return
        if not misses:
            seen.add(hash(prompt))
            yield Example("insights", WORDING.system, prompt, {"facts": cells_of(table)})
        if len(seen) == count:
            return


def cells_of(text: str) -> list[str]:
    """Return a table's cells, each as `kind of row | row | column | figure`, row by row."""
    (kind, *columns), *rows = (line.split(" | ") for line in text.splitlines() if " | " in line)
    return [
        f"{kind} | {row} | {each} | {cell}" for row, *cells in rows for each, cell in zip(columns, cells, strict=True)
    ]


def fact_tables(store: Store, generator: random.Random) -> Iterator[str]:
    """Yield tables on random groups, columns and spans of months, without end; none if the store is too small.

    Each has the number of orders, and one of months has successive whole months in their order: so that small samples
    show, and a rise is one since the month before.
    """
    months, sums, whole = _sum_up(store)
    misses = 0
    while months and misses < DRAWS:
        if table := _draw(months, sums, whole, generator):
            yield table
        misses = 0 if table else misses + 1


def _draw(months: Sequence[date], sums: Sums, whole: range, generator: random.Random) -> str | None:
    length = min(generator.choice(WINDOW_MONTHS), len(months))
    start = generator.randrange(len(months) - length + 1)
    title = generator.choice((*sums,))
    window = range(start, start + length)
    places = set(window).intersection(whole if title == BY_MONTH else window)
    known = _added(row for monthly in sums[BY_MONTH].values() for row in monthly.values())
    needed = [place for place in (5, 7) if known[place]]
    spans = {name: _added(monthly[each] for each in monthly.keys() & places) for name, monthly in sums[title].items()}
    rows = {row: each for row, each in spans.items() if each[0] >= MIN_ORDERS and all(each[place] for place in needed)}
    count = generator.choice(ROWS)
    if len(rows) < min(ROWS):
        return None
    if title == BY_MONTH:
        first = generator.randrange(max(1, len(rows) - count + 1))
        names = list(rows)[first : first + count]
    else:
        names = generator.sample(sorted(rows), min(count, len(rows)))
    # Each row's name has a word of its own, so that rows cannot be confused.
    words = [set(content_words(name)) for name in names]
    if not all(own - set().union(*(other for other in words if other is not own)) for own in words):
        return None
    measures = [(column, *measure) for column, measure in MEASURES.items() if known[measure[0]]]
    drawn = {*generator.sample(range(len(measures)), COLUMNS)}
    measures = [each for place, each in enumerate(measures) if place in drawn or each[0] == "Pedidos"]
    lines = [[name, *(write(value(rows[name])) for _, _, value, write in measures)] for name in names]
    lines = [[title, *(measure[0] for measure in measures)], *lines]
    first_month, last_month = (_month(months[place], 3) for place in (window[0], window[-1]))
    return _figures_text(f"{first_month} a {last_month}", "\n".join(map(" | ".join, lines)))


def _added(rows: Iterable[Sequence[int]]) -> list[int]:
    return [sum(column) for column in zip([0] * len(SUMMED), *rows, strict=True)]


def _state(code: str) -> str:
    # In lower case SE is the word "se", and a reader of the text could not distinguish them.
    return "Sergipe" if code == "SE" else code


def _month(day: date, letters: int | None = None) -> str:
    return f"{MONTHS[day.month - 1][:letters]}/{day.year}"


def _sum_up(store: Store) -> tuple[Sequence[date], Sums, range]:
    """Return the first day of each month with sales, the sums, and the places of the months that are covered whole."""
    import polars as pl

    sales = _sales(store)
    months = sales["month"].unique().sort().to_list()
    names: dict[tuple[str, str], Callable[[Any], str | None]] = {
        ("Estado", "customer_state"): _state,
        ("Categoria", "product_category_name"): readable_category,
        ("Estado do vendedor", "seller_state"): _state,
        ("Pagamento", "payment_type"): PAYMENTS.get,
        ("Dia da compra", "weekday"): lambda day: WEEKDAYS[day - 1],
        (BY_MONTH, "month"): _month,
    }
    sums: dict[str, dict[str, dict[int, Sequence[int]]]] = {title: {} for title, _ in names}
    for (title, column), name_of in names.items():
        # An order is late once, and rated once, however many items of the group it has.
        orders = sales.group_by(pl.col(column).alias("group"), "month", "order_id").agg(
            pl.first("late", "stars", "rated"), pl.sum("cents", "freight_cents"), items=pl.len()
        )
        summed = pl.sum("items", "cents", "freight_cents", "late", "stars", "rated")
        table = orders.group_by("group", "month").agg(summed, orders=pl.len(), delivered=pl.col("late").count())
        table = table.drop_nulls("group").sort("group", "month").select("group", "month", *SUMMED)
        for group, month, *row in table.rows():
            if (name := name_of(group)) is not None:
                sums[title].setdefault(name, {})[months.index(month)] = row
    bought = store.orders["order_purchase_timestamp"]
    first, last, whole = bought.min(), bought.max(), range(0)
    if months and isinstance(first, datetime) and isinstance(last, datetime):
        is_cut_at_end = (last + timedelta(days=1)).month == last.month
        whole = range(int(first.date() > months[0]), len(months) - int(is_cut_at_end))
    return months, sums, whole


def _sales(store: Store) -> "DataFrame":
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
            *("order_id", "customer_state", "product_category_name", "seller_state", "payment_type"),
            weekday=bought.dt.weekday(),
            month=bought.dt.date().dt.truncate("1mo"),
            cents=(pl.col("price") * 100).round().cast(pl.Int64),
            freight_cents=(pl.col("freight_value") * 100).round().cast(pl.Int64),
            late=(delivered.dt.date() > promised.dt.date()).cast(pl.Int64),
            stars=pl.col("stars").fill_null(0),
            rated=pl.col("rated").fill_null(0),
        )
    )
