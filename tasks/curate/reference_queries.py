"""Queries of references, tried on empty tables: one that no store can run teaches nothing."""

from collections.abc import Iterable
from typing import Final

from schemas.store.store import Store
from tasks.commerce.sql_qa.sandbox import Database, Refusal

_FAULTS: Final = {
    Refusal.INVALID: "it is no single query that runs on the tables of a store",
    Refusal.FORBIDDEN: "it does more than read, or its result changes from run to run",
    Refusal.TOO_MUCH: "it is too long, or takes too much even without rows",
}


def queries_that_fail(queries: Iterable[str]) -> dict[str, str]:
    """Return the queries that cannot be run, each with the fault, which quotes nothing of it."""
    database = Database(_empty_store())
    tried = ((query, database.execute(query).refusal) for query in dict.fromkeys(queries))
    return {query: _FAULTS[refusal] for query, refusal in tried if refusal is not None}


def _empty_store() -> Store:
    from schemas.store.tables import TABLES

    return Store(**{name: table.empty() for name, table in TABLES.items()})
