"""Prompts without a person: their prompts leave, and their rows of the store become nobody's.

The rows of the store stay, as other prompts' references and the rewards of SQL are counted over all of them. What says
whose they are is replaced: ids by random ones, texts by nothing, the place by none but the state.
"""

import hmac
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemas.errors import InputError
from schemas.store.files import read_store, write_store
from schemas.store.store import Person, Store
from schemas.tables.prompts import read_prompts, write_prompt_table
from schemas.tables.summaries import PromptsSummary
from schemas.tasks import TaskName
from tasks.commerce.sql_qa.store_copies import cut

if TYPE_CHECKING:
    from polars import DataFrame

STORE_FOLDER: Final = "store"
PROMPTS_FILE: Final = "prompts.parquet"
ID_CHARACTERS: Final = 32
NOWHERE: Final = "-"
ATTEMPTS: Final = 1000
WITH_IDS: Final = ("orders", "items", "payments", "reviews", "customers", "review_causes", "customer_hazards")


def without_person(prompts: Path, person: Person, secret: bytes, output: Path) -> None:
    """Write prompts without a person's into an empty folder; equal inputs give equal bytes.

    The secret decides the random ids; once it is gone, nobody can say what they were.
    """
    store = read_store(prompts / STORE_FOLDER)
    write_store(anonymous(store, person, secret), output / STORE_FOLDER)
    rows = read_prompts(prompts / PROMPTS_FILE)
    removed = Counter(row.task for row in rows if row.prompt_id in person.prompts)
    write_prompt_table(output / PROMPTS_FILE, (row for row in rows if row.prompt_id not in person.prompts))
    _summary_without(PromptsSummary.read(prompts), removed).write(output)


def anonymous(store: Store, person: Person, secret: bytes) -> Store:
    """Return a store in which a person's rows are nobody's.

    In a store of which queries see a part, an id is drawn so that the same orders are in that part.
    """
    import polars as pl

    tables: dict[str, DataFrame] = {name: table for name in WITH_IDS if (table := getattr(store, name)) is not None}
    columns = {name: values for name, values in person.columns().items() if name not in {"prompt_id", "parent_id"}}
    # Of a review or an order alone, the person's other rows stay theirs.
    found = {name: table.filter(person.theirs(table.columns)) for name, table in tables.items()}
    seen = cut(store).orders["order_id"].sort()

    def emptied(table: str, key: str, value: str | None, names: Collection[str]) -> None:
        """Replace some columns of the person's rows."""
        theirs = pl.col(key).is_in(found[table][key].to_list())
        tables[table] = tables[table].with_columns(
            pl.when(theirs).then(pl.lit(value, pl.String)).otherwise(pl.col(name)).alias(name) for name in sorted(names)
        )

    emptied("reviews", "review_id", None, ("review_comment_title", "review_comment_message"))
    emptied("customers", "customer_id", NOWHERE, ("customer_city", "customer_zip_code_prefix"))
    if "review_causes" in tables:
        told = {"main_complaint", "complaint_words"} & {*tables["review_causes"].columns}
        emptied("review_causes", "review_id", "", told)
    for attempt in range(ATTEMPTS):
        new_ids = {name: _new_ids(values, secret, attempt) for name, values in columns.items()}
        changed = {
            name: table.with_columns(
                pl.col(column).replace(ids) for column, ids in new_ids.items() if column in table.columns and ids
            )
            for name, table in tables.items()
        }
        new = replace(store, **changed)
        if cut(new).orders["order_id"].sort().equals(seen.replace(new_ids["order_id"]).sort()):
            return new
    raise InputError("no random ids keep the part of the store that queries see; make the prompts again")


def _new_ids(values: frozenset[str], secret: bytes, attempt: int) -> dict[str, str]:
    return {id_: hmac.digest(secret, f"{attempt} {id_}".encode(), "sha256").hex()[:ID_CHARACTERS] for id_ in values}


def _summary_without(summary: PromptsSummary, removed: Mapping[TaskName, int]) -> PromptsSummary:
    made = {task: count - removed.get(task, 0) for task, count in summary.made.items()}
    total = Counter(made) + Counter(summary.served or {})
    minorities = {task: total[task] for task, n in summary.asked.items() if n and total[task] < summary.minority_floor}
    return summary.model_copy(update={"made": made, "minorities": minorities})
