import random
from itertools import islice

from schemas.store.store import Store
from tasks.commerce.insights.store_facts import FactTable, fact_tables
from tasks.commerce.text.portuguese import numbers_in

SHORT_MONTHS = ("jan", "fev", "mar", "abr", "mai", "jun", "jul", "ago", "set", "out", "nov", "dez")


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


def test_a_row_says_what_the_store_says(store: Store) -> None:
    import polars as pl

    delivered, promised = pl.col("order_delivered_customer_date"), pl.col("order_estimated_delivery_date")
    sales = (
        store.items.join(store.orders, on="order_id")
        .join(store.customers, on="customer_id")
        .join(store.reviews, on="order_id")
        .with_columns(
            late=delivered.dt.date() > promised.dt.date(), month=pl.col("order_purchase_timestamp").dt.strftime("%Y-%m")
        )
    )
    checked = 0
    for table in draw(store, 3, 300):
        period, header, *rows = table.text.splitlines()
        if not header.startswith("Estado |"):
            continue
        first, last = (f"{day[4:]}-{SHORT_MONTHS.index(day[:3]) + 1:02}" for day in period.split()[1::2])
        for row in rows:
            cells = dict(zip(header.split(" | "), row.split(" | "), strict=True))
            of_state = sales.filter(
                pl.col("month").is_between(pl.lit(first), pl.lit(last)), pl.col("customer_state") == cells["Estado"]
            )
            orders = of_state["order_id"].n_unique()
            truth = {
                "Receita": of_state["price"].sum(),
                "Atrasos": 100 * of_state["late"].mean(),  # type: ignore[operator]
                "Nota média": of_state["review_score"].mean(),
                "Pedidos": orders,
                "Ticket médio": of_state["price"].sum() / orders,
                "Frete médio": of_state["freight_value"].mean(),
            }
            for title in header.split(" | ")[1:]:
                assert abs(numbers_in(cells[title])[0] - truth[title]) <= 0.5001  # type: ignore[operator]
                checked += 1
    assert checked > 100


def test_there_are_several_kinds_of_tables(store: Store) -> None:
    titles = {table.text.splitlines()[1].split(" | ")[0] for table in draw(store, 5, 300)}
    assert {"Estado", "Categoria", "Estado do vendedor", "Dia da compra", "Mês"} <= titles
    columns = {title for table in draw(store, 5, 300) for title in table.text.splitlines()[1].split(" | ")[1:]}
    assert columns == {"Receita", "Atrasos", "Nota média", "Pedidos", "Ticket médio", "Frete médio"}


def test_no_two_rows_can_be_mistaken_for_each_other(store: Store) -> None:
    for table in draw(store, 8, 200):
        names = [line.partition(" | ")[0] for line in table.text.splitlines()[2:]]
        assert len(set(names)) == len(names)


def test_tables_are_repeatable(store: Store) -> None:
    assert draw(store, 7, 40) == draw(store, 7, 40)
    assert draw(store, 7, 40) != draw(store, 8, 40)


def test_a_store_that_is_too_small_has_no_tables(store: Store) -> None:
    from dataclasses import replace

    assert draw(replace(store, items=store.items.head(3)), 1, 5) == []
    assert draw(replace(store, items=store.items.head(0)), 1, 5) == []
