"""Reach of a person's data: every artifact and model that holds it or was made from it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.errors import InputError
from schemas.tables.person import Person
from tasks.lineage.graph.models import ModelVersion, read_versions
from tasks.lineage.erase.identified_tables import PEOPLE, PROMPTS, IdentifiedTable, read_identified_tables
from tasks.lineage.erase.reach import TRAIN_FILE, doubts_of, learned_from, possibly_reached
from tasks.lineage.store.inventory import Inventory, short

if TYPE_CHECKING:
    import polars as pl

IdentifierKind = Literal["customer_unique_id", "customer_id", "order_id", "review_id"]
AskedKind = Literal["customer", "order", "review"]
"""What an identifier may be said to be of, where it stands for several things."""

ASKED_KINDS: Final[Mapping[IdentifierKind, AskedKind]] = {
    "customer_unique_id": "customer",
    "customer_id": "customer",
    "order_id": "order",
    "review_id": "review",
}

CHECK_IT: Final = "check it, and that the state folder is the one that the models were made in"
STORE_FOLDER: Final = "store/"
STORE_ACTION: Final = "take these rows out of the shop's tables that synthesis reads, and make the prompts again"
ROW_ACTIONS: Final[Mapping[ArtifactKind, str]] = {
    "prompts": "remove this artifact once prompts are made from the shop's tables without the rows",
    "sheet": "remove this artifact, and take the rows out of the sheet that people score",
    "audit": "take the rows out of the sheet and its rollouts, audit again, and remove this artifact",
    "answers": "remove this artifact with the evaluations that read it",
    "evaluation": "evaluate again without the rows, and remove this artifact",
}
ROW_ACTION: Final = "remove this artifact once another is made without the rows"
LEARNED_ACTIONS: Final[Mapping[ArtifactKind, str]] = {
    "base": "its warm start learned from the rows: make it again from a dataset without them",
    "policy": "its weights learned from the rows: train again without them",
    "merged": "its weights learned from the rows: remove it with its policy",
    "promotion": "its model learned from the rows: serve one that did not, and delete this version and artifact",
}
ANSWERED_ACTION: Final = "it says what a model answered that learned from the rows: remove it with that model"
POSSIBLE_ACTIONS: Final[Mapping[ArtifactKind, str]] = {
    "base": "its warm start may have learned from the rows: make it again unless you know better",
    "policy": "its weights may have learned from the rows: train again unless you know better",
    "merged": "its weights may have learned from the rows: remove it with its policy unless you know better",
    "promotion": "its model may have learned from the rows: serve another unless you know better",
}
POSSIBLE_ACTION: Final = "it may hold the rows, or what a model answered that learned from them: remove it"
CHECKPOINTS_NOTE: Final = (
    "the mirror keeps checkpoints of the trainings on these rows, also of those that never ended and left no policy; "
    "remove the folders of those trainings there too"
)
MLFLOW_NOTE: Final = (
    "MLflow keeps copies of reports, and of completions that people score, with the runs of these artifacts"
)
WORK_NOTE: Final = (
    "work and artifacts/drafts in the state folder keep what interrupted answers, sheets and trainings had sampled; "
    "run them to their end, or empty both folders while nothing runs"
)
SHARED_NOTE: Final = (
    "where state.artifacts is set, that place keeps copies of prompts, datasets and policies until prune finds them "
    "old; empty it while no training is under way"
)
TRAINER_NOTE: Final = (
    "where workers.training is set, the machine that trains keeps such copies in a state folder of its own; run this "
    "command there too, with --set state.root=FOLDER/trainer"
)


@dataclass(frozen=True)
class Place:
    """A table or document of an artifact with a person's data, or an artifact made from it."""

    sha256: str
    """The artifact."""
    kind: ArtifactKind
    """Kind of the artifact."""
    file: str | None
    """The file, by its path in the artifact; None if the artifact as a whole was made from the data."""
    rows: int
    """Rows of the file that are theirs; 0 if there are no rows, as in a model's weights."""
    action: str
    """Required action."""
    possibly: bool = False
    """Whether this is only possible, because inputs are lost or unreadable."""


@dataclass(frozen=True)
class Reached:
    """Everything that a customer's, order's or review's data reached, in order of creation."""

    identifier: str
    """The requested identifier."""
    kinds: tuple[IdentifierKind, ...]
    """Its kinds."""
    customers: tuple[str, ...]
    """The customer_id of each order's customer it stands for."""
    orders: tuple[str, ...]
    """The order_id of each of its orders."""
    reviews: tuple[str, ...]
    """The review_id of each of its reviews."""
    prompts: tuple[str, ...]
    """The prompt_id of each prompt that was made from it, paraphrases included."""
    places: tuple[Place, ...]
    """Artifacts and files that hold it."""
    models: tuple[str, ...]
    """Registered model versions trained on it, as NAME/VERSION."""
    possible_models: tuple[str, ...]
    """Versions possibly trained on it: inputs are lost or unreadable."""
    notes: tuple[str, ...]
    """Unreadable data and why, and places that no artifact names, each one sentence."""
    doubts: tuple[str, ...] = ()
    """Those of the notes that are on data that cannot be searched."""

    @property
    def person(self) -> Person:
        """Return the identifiers that find their rows."""
        # A shop's prompts without its tables have the person as their customer_id.
        own = {self.identifier} if {"customer_unique_id", "customer_id"} & set(self.kinds) else set()
        return Person(
            people=frozenset(own),
            customers=frozenset(self.customers),
            orders=frozenset(self.orders),
            reviews=frozenset(self.reviews),
            prompts=frozenset(self.prompts),
        )

    def document(self) -> dict[str, Any]:
        """Return it as one JSON document."""
        return asdict(self)


def reached(inventory: Inventory, identifier: str, kind: AskedKind | None = None) -> Reached:
    """Find everything that a customer's, order's or review's data reached.

    A person has all their orders, an order its customer_id and its reviews, a review only itself.

    Args:
        inventory: The artifact store, whose tables are all read.
        identifier: A customer_id, customer_unique_id, order_id or review_id.
        kind: What the identifier is of; None for all that it is.

    Raises:
        InputError: No readable artifact contains the identifier, or it stands for several persons' things.
    """
    identifier = identifier.strip()
    records = list(inventory.records.values())
    tables, unread_files = read_identified_tables(inventory)
    doubts = doubts_of(inventory, unread_files)
    kinds = tuple(each for each in _kinds(tables, identifier) if kind in {None, ASKED_KINDS[each]})
    if not kinds:
        blind = f"; besides, {len(doubts)} artifacts are lost or cannot be read whole, which `--verify` names"
        raise InputError(
            f"no table of the {len(records)} artifacts has {identifier!r} as {_columns(kind)}; "
            + (
                "a name finds nobody, since two people may share one: give an ID"
                if _is_a_name(identifier)
                else CHECK_IT
            )
            + (blind if doubts else "")
        )
    _refuse_several_people(tables, kinds, identifier)
    known = _with_orders_and_reviews(tables, kinds, identifier)
    of_person = _matches(tables, known)
    prompts = _with_paraphrases(tables, of_person)
    theirs = _matches(tables, known | dict.fromkeys(PROMPTS, prompts))
    rows = {(table.record.sha256, table.file): found.height for table, found in theirs}
    in_training = any(file == TRAIN_FILE for _, file in rows)
    learned = learned_from(records, rows)
    possible = possibly_reached(records, doubts) - learned
    versions = read_versions(inventory)
    models = _models(versions, learned)
    return Reached(
        identifier=identifier,
        kinds=kinds,
        customers=tuple(sorted(known["customer_id"])),
        orders=tuple(sorted(known["order_id"])),
        reviews=tuple(sorted(known["review_id"])),
        prompts=tuple(sorted(prompts)),
        places=(*_places(records, rows, learned, possible), *_unreadable_places(inventory)),
        models=models,
        possible_models=tuple(name for name in _models(versions, possible) if name not in models),
        notes=(
            *_notes(tables, kinds, known, in_checkpoints=in_training or bool(learned | possible)),
            *_monitoring_notes(inventory),
            *doubts.values(),
            *_unnamed_versions(inventory, versions, learned | possible),
        ),
        doubts=(*doubts.values(), *_unnamed_versions(inventory, versions, learned | possible)),
    )


def reached_rows(found: Reached) -> dict[tuple[str, str], int]:
    """Return the number of a person's rows in each table, by its artifact's sha256 and its file."""
    return {(place.sha256, place.file): place.rows for place in found.places if place.file is not None and place.rows}


def _kinds(tables: Sequence[IdentifiedTable], identifier: str) -> tuple[IdentifierKind, ...]:
    """Return the columns that contain the identifier; a prompt's customer_id is a person's."""
    found = {
        column
        for table in tables
        for column in PEOPLE
        if column in table.rows.columns and identifier in table.rows[column]
    }
    if "customer_unique_id" in found:
        found.discard("customer_id")
    return tuple(kind for kind in get_args(IdentifierKind) if kind in found)


def _is_a_name(identifier: str) -> bool:
    return " " in identifier and not any(character.isdigit() or character == "@" for character in identifier)


def _columns(kind: AskedKind | None) -> str:
    *others, last = (column for column, of in ASKED_KINDS.items() if kind in {None, of})
    return f"{', '.join(others)} or {last}" if others else last


def _refuse_several_people(tables: Sequence[IdentifiedTable], kinds: Sequence[IdentifierKind], identifier: str) -> None:
    """Refuse an identifier that is of one person as one thing, and of another as another: a shop may count from 1."""
    people = {kind: _people_of(tables, kind, identifier) for kind in kinds}
    first = people[kinds[0]]
    if len(kinds) > 1 and (not first or any(each != first for each in people.values())):
        raise InputError(
            f"{identifier!r} is {' and '.join(kinds)}, which are not known to be of one person; say which is meant "
            f"with tucano forget ID --kind {'|'.join(dict.fromkeys(ASKED_KINDS[kind] for kind in kinds))}"
        )


def _people_of(tables: Sequence[IdentifiedTable], kind: IdentifierKind, identifier: str) -> set[str]:
    """Return the persons whose the identifier is as one thing."""
    known = _with_orders_and_reviews(tables, (kind,), identifier)
    if kind == "review_id":
        orders = _looked_up(tables, "review_id", known["review_id"], "order_id")
        known["customer_id"] |= _looked_up(tables, "order_id", orders, "customer_id")
    people = known["customer_unique_id"] | _looked_up(tables, "customer_id", known["customer_id"], "customer_unique_id")
    for _, rows in _matches(tables, {kind: {identifier}}):
        if {"prompt_id", "customer_id"} <= set(rows.columns):
            people |= set(rows["customer_id"].drop_nulls())
    return people


def _with_orders_and_reviews(
    tables: Sequence[IdentifiedTable], kinds: Sequence[IdentifierKind], identifier: str
) -> dict[str, set[str]]:
    """Return the related identifiers by column: a person's orders, and the reviews of an order."""
    known: dict[str, set[str]] = {column: {identifier} if column in kinds else set() for column in PEOPLE}
    if "order_id" in kinds:
        known["customer_id"] |= _looked_up(tables, "order_id", known["order_id"], "customer_id")
    known["customer_id"] |= _looked_up(tables, "customer_unique_id", known["customer_unique_id"], "customer_id")
    known["order_id"] |= _looked_up(tables, "customer_id", known["customer_id"], "order_id")
    known["review_id"] |= _looked_up(tables, "order_id", known["order_id"], "review_id")
    if "customer_id" in kinds and any(
        _of_prompts(table) and identifier in table.rows["customer_id"]
        for table in tables
        if "customer_id" in table.rows.columns
    ):
        # Prompts without the shop's tables, which would name the person.
        known["customer_unique_id"].add(identifier)
    return known


def _of_prompts(table: IdentifiedTable) -> bool:
    """Return whether a table is of prompts, which have the person where a store's tables have the order's customer."""
    return "prompt_id" in table.rows.columns


def _looked_up(tables: Sequence[IdentifiedTable], column: str, values: set[str], wanted: str) -> set[str]:
    """Return the values of the column `wanted` in store rows whose `column` has one of the values."""
    found: set[str] = set()
    for table in tables:
        if {column, wanted} <= set(table.rows.columns) and not _of_prompts(table):
            found |= set(table.rows.filter(_is_in(column, values))[wanted].drop_nulls())
    return found


def _matches(
    tables: Sequence[IdentifiedTable], known: Mapping[str, set[str]]
) -> list[tuple[IdentifiedTable, "pl.DataFrame"]]:
    """Return the tables with matching rows, each with these rows."""
    import polars as pl

    found = []
    for table in tables:
        values = {**known, "customer_id": known.get("customer_unique_id", set())} if _of_prompts(table) else known
        conditions = [_is_in(column, values[column]) for column in table.rows.columns if values.get(column)]
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


def _places(
    records: Sequence[ArtifactRecord], rows: Mapping[tuple[str, str], int], learned: set[str], possible: set[str]
) -> Iterator[Place]:
    for record in records:
        for name in record.files:
            if count := rows.get((record.sha256, name)):
                is_store = name.startswith(STORE_FOLDER)
                action = STORE_ACTION if is_store else ROW_ACTIONS.get(record.kind, ROW_ACTION)
                yield Place(record.sha256, record.kind, name, count, action)
        if record.sha256 in learned:
            yield Place(record.sha256, record.kind, None, 0, LEARNED_ACTIONS.get(record.kind, ANSWERED_ACTION))
        elif record.sha256 in possible:
            yield _possible_place(record.sha256, record.kind)


def _unreadable_places(inventory: Inventory) -> Iterator[Place]:
    for sha256, (kind, _) in inventory.unreadable.items():
        yield _possible_place(sha256, kind)


def _possible_place(sha256: str, kind: ArtifactKind) -> Place:
    return Place(sha256, kind, None, 0, POSSIBLE_ACTIONS.get(kind, POSSIBLE_ACTION), possibly=True)


def _models(versions: Iterable[ModelVersion], promotions: set[str]) -> tuple[str, ...]:
    """Return the registered model versions of some promotions."""
    named = (each.name for each in versions if any(record.sha256 in promotions for record in each.promotions))
    return tuple(dict.fromkeys(named))


def _unnamed_versions(inventory: Inventory, versions: Iterable[ModelVersion], reached: set[str]) -> Iterator[str]:
    """Report promotions whose registered version is unknown."""
    named = {record.sha256 for version in versions for record in version.promotions}
    lost = [sha256 for sha256, (kind, _) in inventory.unreadable.items() if kind == "promotion"]
    lost += [each.sha256 for each in inventory.of_kind("promotion") if each.sha256 in reached - named]
    for sha256 in lost:
        yield (
            f"what promotion {short(sha256)} decided cannot be read, so the model's version that it registered is not "
            "among these"
        )


def _monitoring_notes(inventory: Inventory) -> Iterator[str]:
    """Report artifacts with texts from production, which no id links to a person."""
    for record in inventory.of_kind("monitoring"):
        yield (
            f"monitoring {short(record.sha256)} keeps prompts and answers of production without ids, so nobody can be "
            "found in it: look in its answers.parquet for what this person wrote, take that out of the logs, and "
            "remove the artifact"
        )


def _notes(
    tables: Sequence[IdentifiedTable],
    kinds: Sequence[IdentifierKind],
    known: Mapping[str, set[str]],
    *,
    in_checkpoints: bool,
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
    if in_checkpoints:
        notes.append(CHECKPOINTS_NOTE)
    return [*notes, MLFLOW_NOTE, WORK_NOTE, SHARED_NOTE, TRAINER_NOTE]
