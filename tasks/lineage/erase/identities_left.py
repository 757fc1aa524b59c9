"""Identities that are left after a removal: every cell of every table is compared with a person's ids, by their hashes.

What an id reached cannot be asked again then, since the tables that joined a person's ids are gone.
"""

import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence

from schemas.tables.person import Person
from tasks.lineage.erase.identified_tables import read_identified_tables
from tasks.lineage.store.inventory import Inventory, short


def hashed_identities(person: Person, secret: bytes) -> dict[str, tuple[str, ...]]:
    """Return a person's ids as keyed hashes, by the columns of the shop's tables that hold them."""
    return {
        column: tuple(sorted(_hash(value, secret) for value in values))
        for column, values in person.columns().items()
        if values
    }


def identities_left(inventory: Inventory, identities: Mapping[str, Sequence[str]], secret: bytes) -> Iterator[str]:
    """Yield a sentence for each table that has one of a person's ids, and for each that cannot be read.

    Args:
        inventory: The artifact store, whose tables are all read.
        identities: The person's ids, as `hashed_identities` returns them.
        secret: The key of the hashes.
    """
    known = {column: frozenset(hashes) for column, hashes in identities.items()}
    tables, unread = read_identified_tables(inventory)
    for table in tables:
        # In this column prompts have the person.
        of_prompts = {"customer_id": "customer_unique_id"} if "prompt_id" in table.rows.columns else {}
        for column in table.rows.columns:
            wanted = known.get(of_prompts.get(column, column), frozenset())
            cells = table.rows[column].drop_nulls().unique() if wanted else ()
            if count := sum(_hash(cell, secret) in wanted for cell in cells):
                yield (
                    f"{table.record.kind} {short(table.record.sha256)} still has {count} of their ids as {column} in "
                    f"{table.file}"
                )
    for sha256, file in unread:
        yield f"{file.name} of {short(sha256)} cannot be read, so nobody was looked for in it after the removal"


def _hash(value: str, secret: bytes) -> str:
    return hmac.digest(secret, value.encode(), hashlib.sha256).hex()
