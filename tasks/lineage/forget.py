"""Whom a person's data reached: every artifact and model that holds it or was made from it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.errors import InputError
from tasks.lineage.artifacts import ArtifactStore
from tasks.lineage.identified_tables import PEOPLE, PROMPTS, IdentifiedTable, all_records, read_identified_tables

if TYPE_CHECKING:
    import polars as pl

IdentifierKind = Literal["customer_unique_id", "customer_id", "order_id", "review_id"]

STORE_FOLDER: Final = "store/"
TRAIN_FILE: Final = "data/train.parquet"
WARM_START_FILE: Final = "warm_start.json"
DECISION_FILE: Final = "decision.json"
STORE_ACTION: Final = "take these rows out of the shop's tables that synthesis reads, and make the prompts again"
ROW_ACTIONS: Final[Mapping[ArtifactKind, str]] = {
    "prompts": "remove this artifact once prompts are made from the shop's tables without the rows",
    "dataset": "remove this artifact once a dataset is made without the rows",
    "sheet": "remove this artifact, and take the rows out of the sheet that people score",
    "audit": "take the rows out of the sheet and its rollouts, audit again, and remove this artifact",
    "base": "remove this artifact once a base is made without the rows",
    "policy": "remove this artifact once a policy is trained without the rows",
    "plan": "remove this artifact with the evaluation that it planned",
    "answers": "remove this artifact with the evaluations that read it",
    "evaluation": "evaluate again without the rows, and remove this artifact",
    "promotion": "remove this artifact once another model is promoted",
    "monitoring": "take the rows out of the logs, and remove this artifact",
}
LEARNED_ACTIONS: Final[Mapping[ArtifactKind, str]] = {
    "base": "its warm start learned from the rows: make it again from a dataset without them",
    "policy": "its weights learned from the rows: train again without them",
    "promotion": "its model learned from the rows: serve one that did not, and delete this version and artifact",
}
ANSWERED_ACTION: Final = "it tells what a model answered that learned from the rows: remove it with that model"


@dataclass(frozen=True)
class Place:
    """A table or document of one artifact that holds a person's data, or an artifact that was made from it."""

    sha256: str
    """The artifact."""
    kind: ArtifactKind
    """What the artifact holds."""
    file: str | None
    """The file, by its path in the artifact; None where the artifact as a whole was made from the data."""
    rows: int
    """Rows of the file that are theirs; 0 where there are no rows, as in a model's weights."""
    action: str
    """What to do about it."""


@dataclass(frozen=True)
class Reached:
    """All that a customer's, order's or review's data reached, in the order in which it was made."""

    identifier: str
    """What was asked for."""
    kinds: tuple[IdentifierKind, ...]
    """What it is."""
    customers: tuple[str, ...]
    """The customer_id of each order's customer it stands for."""
    orders: tuple[str, ...]
    """The order_id of each of its orders."""
    reviews: tuple[str, ...]
    """The review_id of each of its reviews."""
    prompts: tuple[str, ...]
    """The prompt_id of each prompt that was made from it, paraphrases included."""
    places: tuple[Place, ...]
    """Where it is."""
    models: tuple[str, ...]
    """The versions of registered models that were trained on it, as NAME/VERSION."""
    notes: tuple[str, ...]
    """What could not be read and why, each one sentence."""

    def document(self) -> dict[str, Any]:
        """Return it as one JSON document."""
        return asdict(self)


def reached(store: ArtifactStore, identifier: str) -> Reached:
    """Find all that a customer's, order's or review's data reached.

    A person has all their orders, an order its customer_id and its reviews, a review only itself.

    Args:
        store: The artifact store, which is read whole.
        identifier: A customer_id, customer_unique_id, order_id or review_id.

    Raises:
        InputError: No artifact knows the identifier.
    """
    records = all_records(store)
    tables, unread = read_identified_tables(store, records)
    kinds = _kinds(tables, identifier)
    if not kinds:
        raise InputError(
            f"no table of the {len(records)} artifacts has {identifier!r} as {', '.join(PEOPLE[:-1])} or {PEOPLE[-1]}; "
            "check it, and that the state folder is the one that the models were made in"
        )
    known = _with_orders_and_reviews(tables, kinds, identifier)
    of_person = _matches(tables, {column: known[column] for column in PEOPLE})
    prompts = _with_paraphrases(tables, of_person)
    theirs = _matches(tables, known | dict.fromkeys(PROMPTS, prompts))
    rows = {(table.record.sha256, table.file): found.height for table, found in theirs}
    learned = _learned(records, rows)
    models, without_version = _models(store, records, learned)
    return Reached(
        identifier=identifier,
        kinds=kinds,
        customers=tuple(sorted(known["customer_id"] - known["customer_unique_id"])),
        orders=tuple(sorted(known["order_id"])),
        reviews=tuple(sorted(known["review_id"])),
        prompts=tuple(sorted(prompts)),
        places=tuple(_places(records, rows, learned)),
        models=models,
        notes=(*_notes(tables, kinds, known, learned), *unread, *without_version),
    )


def _kinds(tables: Sequence[IdentifiedTable], identifier: str) -> tuple[IdentifierKind, ...]:
    """Return the columns that have the identifier; a person's is the customer_id of a prompt."""
    found = {
        column
        for table in tables
        for column in PEOPLE
        if column in table.rows.columns and identifier in table.rows[column]
    }
    if "customer_unique_id" in found:
        found.discard("customer_id")
    return tuple(kind for kind in get_args(IdentifierKind) if kind in found)


def _with_orders_and_reviews(
    tables: Sequence[IdentifiedTable], kinds: Sequence[IdentifierKind], identifier: str
) -> dict[str, set[str]]:
    """Return by column what the identifier stands for: a person's orders, and the reviews of an order."""
    known: dict[str, set[str]] = {column: {identifier} if column in kinds else set() for column in PEOPLE}
    if "order_id" in kinds:
        known["customer_id"] |= _looked_up(tables, "order_id", known["order_id"], "customer_id")
    known["customer_id"] |= _looked_up(tables, "customer_unique_id", known["customer_unique_id"], "customer_id")
    known["order_id"] |= _looked_up(tables, "customer_id", known["customer_id"], "order_id")
    known["review_id"] |= _looked_up(tables, "order_id", known["order_id"], "review_id")
    # Prompts name the person in this column.
    known["customer_id"] |= known["customer_unique_id"]
    return known


def _looked_up(tables: Sequence[IdentifiedTable], column: str, values: set[str], wanted: str) -> set[str]:
    """Return another column's values in the rows of a store that have one of some values in a column."""
    found: set[str] = set()
    for table in tables:
        # A prompt names the person where a store's tables name the order's customer.
        if {column, wanted} <= set(table.rows.columns) and "prompt_id" not in table.rows.columns:
            found |= set(table.rows.filter(_is_in(column, values))[wanted].drop_nulls())
    return found


def _matches(
    tables: Sequence[IdentifiedTable], known: Mapping[str, set[str]]
) -> list[tuple[IdentifiedTable, "pl.DataFrame"]]:
    """Return the tables that have such rows, each with them."""
    import polars as pl

    found = []
    for table in tables:
        conditions = [_is_in(column, known[column]) for column in table.rows.columns if known.get(column)]
        rows = table.rows.filter(pl.any_horizontal(conditions)) if conditions else table.rows.clear()
        if rows.height:
            found.append((table, rows))
    return found


def _with_paraphrases(
    tables: Sequence[IdentifiedTable], of_person: Sequence[tuple[IdentifiedTable, "pl.DataFrame"]]
) -> set[str]:
    """Return the prompts of these rows, and their paraphrases."""
    prompts = {prompt for _, rows in of_person if "prompt_id" in rows.columns for prompt in rows["prompt_id"]}
    kin = {
        (parent, prompt)
        for table in tables
        if set(PROMPTS) <= set(table.rows.columns)
        for parent, prompt in table.rows.select("parent_id", "prompt_id").drop_nulls().iter_rows()
    }
    while more := {prompt for parent, prompt in kin if parent in prompts} - prompts:
        prompts |= more
    return prompts - {None}


def _is_in(column: str, values: set[str]) -> "pl.Expr":
    import polars as pl

    return pl.col(column).is_in(sorted(values))


def _learned(records: Sequence[ArtifactRecord], rows: Mapping[tuple[str, str], int]) -> set[str]:
    """Return the artifacts whose weights learned from these rows, and those that hold what such weights answered.

    Records come in the order of their making.
    """
    learned: set[str] = set()
    for record in records:
        in_training = rows.get((record.inputs.get("dataset", ""), TRAIN_FILE), 0) > 0
        rollouts = [name for name in record.files if name.endswith(".parquet")]
        if record.kind == "base":
            has_learned = in_training and WARM_START_FILE in record.files
        elif record.kind == "policy":
            # Every rollout is kept: a row that was never drawn taught nothing.
            drawn = any((record.sha256, name) in rows for name in rollouts)
            has_learned = drawn or (in_training and not rollouts) or record.inputs.get("base") in learned
        elif record.kind == "promotion":
            has_learned = record.inputs.get("policy") in learned
        else:
            has_learned = not learned.isdisjoint(record.inputs.values())
        if has_learned:
            learned.add(record.sha256)
    return learned


def _places(
    records: Sequence[ArtifactRecord], rows: Mapping[tuple[str, str], int], learned: set[str]
) -> Iterator[Place]:
    for record in records:
        for name in record.files:
            if count := rows.get((record.sha256, name)):
                is_store = name.startswith(STORE_FOLDER)
                action = STORE_ACTION if is_store else ROW_ACTIONS[record.kind]
                yield Place(record.sha256, record.kind, name, count, action)
        if record.sha256 in learned:
            yield Place(record.sha256, record.kind, None, 0, LEARNED_ACTIONS.get(record.kind, ANSWERED_ACTION))


def _models(
    store: ArtifactStore, records: Sequence[ArtifactRecord], learned: set[str]
) -> tuple[tuple[str, ...], list[str]]:
    """Return the versions of registered models that learned from the rows, and what cannot be read."""
    versions: dict[str, None] = {}
    unread: list[str] = []
    for record in records:
        if record.kind == "promotion" and record.sha256 in learned:
            file = store.path(record.sha256) / DECISION_FILE
            try:
                decision = json.loads(file.read_text(encoding="utf-8"))
                versions[f"{decision['model']}/{decision['version']}"] = None
            except (OSError, ValueError, KeyError):
                unread.append(f"{file} cannot be read, so the model's version that it registered is not among these")
    return tuple(versions), unread


def _notes(
    tables: Sequence[IdentifiedTable],
    kinds: Sequence[IdentifierKind],
    known: Mapping[str, set[str]],
    learned: set[str],
) -> list[str]:
    notes = []
    if "customer_unique_id" not in kinds:
        people = _looked_up(tables, "customer_id", known["customer_id"], "customer_unique_id")
        notes += [f"this is part of what is known of the person {person}; ask for that to see all" for person in people]
    if any(table.file.startswith(STORE_FOLDER) for table, _ in _matches(tables, known)):
        notes.append(
            "sql_qa, insights and push prompts name nobody, and some count over a whole store: they change with it, "
            "and are not listed"
        )
    if learned:
        notes.append(
            "the mirror keeps checkpoints of these policies, and of trainings that never ended; remove the folders of "
            "those trainings there too"
        )
    notes.append(
        "MLflow keeps copies of reports, and of completions that people score, with the runs of these artifacts"
    )
    return notes
