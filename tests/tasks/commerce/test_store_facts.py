import random

from schemas.store import Store
from tasks.commerce.portuguese_numbers import numbers_in
from tasks.commerce.store_facts import MONTHS, fact_tables


def test_every_fact_is_in_its_table(store: Store) -> None:
    tables = list(fact_tables(store, random.Random(1), 20))
    assert len(tables) == 20
    for table in tables:
        for fact in table.facts:
            name, _, rest = fact.partition(": ")
            row = next(line for line in table.text.splitlines() if line.startswith(f"{name} | "))
            assert set(numbers_in(rest)) <= set(numbers_in(row))


def test_a_row_says_what_the_store_says(store: Store) -> None:
    import polars as pl

    sales = store.items.join(store.orders, on="order_id").join(store.customers, on="customer_id")
    table = next(
        table
        for table in fact_tables(store, random.Random(3), 400)
        if table.text.startswith("Período: jun/2017 a ") and "\nEstado" in table.text
    )
    end = table.text.split()[3]
    month = MONTHS.index(end[:3]) + 1
    until = pl.col("order_purchase_timestamp").dt.date() < pl.date(int(end[4:]) + month // 12, month % 12 + 1, 1)
    state, revenue = table.text.splitlines()[2].split(" | ")[:2]
    total = sales.filter(until, pl.col("customer_state") == state)["price"].sum()
    assert numbers_in(revenue) == [round(total)]


def test_the_first_facts_are_the_most_telling(store: Store) -> None:
    for table in fact_tables(store, random.Random(2), 10):
        rows = [[numbers_in(cell) for cell in line.split(" | ")[1:]] for line in table.text.splitlines()[2:]]
        assert numbers_in(table.facts[0].partition(": ")[2]) == max(row[0] for row in rows)
        assert numbers_in(table.facts[1].partition(": ")[2]) == max(row[1] for row in rows)
        assert numbers_in(table.facts[2].partition(": ")[2]) == min(row[2] for row in rows)


def test_tables_are_different_and_repeatable(store: Store) -> None:
    texts = [table.text for table in fact_tables(store, random.Random(7), 40)]
    assert len(set(texts)) == len(texts)
    assert texts == [table.text for table in fact_tables(store, random.Random(7), 40)]
