"""Databases of a store's folder, on which generated SQL is executed."""

from pathlib import Path

from tasks.commerce.sql_qa.sandbox import Database, Databases


def open_databases(folder: Path) -> Databases:
    """Read a store and fill its copies; a store without orders, as of a shop that gave reviews alone, has none.

    Raises:
        InputError: The store cannot be read.
    """
    # Imports polars.
    from schemas.store.files import read_store

    store = read_store(folder)
    return Databases((Database(store),)) if store.orders.is_empty() else Databases.from_store(store)
