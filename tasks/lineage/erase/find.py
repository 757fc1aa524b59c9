"""Find a person's data: every table with their rows, and every artifact and model that learned from one."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.errors import InputError
from schemas.store.store import Person
from tasks.lineage.graph.graph import ModelVersion, read_versions
from tasks.lineage.graph.rows import PEOPLE, PROMPTS, IdentifiedTable, IdentifierKind, Identities
from tasks.lineage.store.inventory import Inventory, short

if TYPE_CHECKING:
    import polars as pl

AskedKind = Literal["customer", "order", "review"]
"""What an identifier may be said to be of, where it stands for several things."""

ASKED_KINDS: Final[Mapping[IdentifierKind, AskedKind]] = {
    "customer_unique_id": "customer",
    "customer_id": "customer",
    "order_id": "order",
    "review_id": "review",
}
TRAIN_FILE: Final = "data/train.parquet"
WARM_START_FILE: Final = "warm_start.json"
LEARNS_BY: Final[Mapping[ArtifactKind, Collection[str]]] = {
    "base": (),
    "policy": ("base",),
    "merged": ("base", "policy"),
    "promotion": ("policy",),
}
"""Input roles through which an artifact learned from the input's data; all roles for other kinds."""

CHECK_IT: Final = "check it, and that the state folder is the one that the models were made in"
STORE_FOLDER: Final = "store/"
ROW_ACTION: Final = "make it again without the rows, and remove this artifact"
LEARNED_ACTION: Final = "train again without the rows, and remove this artifact; serve no model of it"
AGGREGATES_NOTE: Final = (
    "sql_qa, insights and push prompts name nobody, and some count over a whole store: they change with it, and are "
    "not listed"
)
ELSEWHERE_NOTE: Final = (
    "logs, sheets, MLflow, checkpoints of trainings that never ended, folders of interrupted work and copies in "
    "state.artifacts may have them too: `tucano forget` searches these; where workers.training is set, run it on that "
    "machine too, with --set state.root=FOLDER/trainer"
)


@dataclass(frozen=True)
class Place:
    """A table or document of an artifact with a person's data, or an artifact made from it."""

    sha256: str
    kind: ArtifactKind
    file: str | None
    """The file, by its path in the artifact; None if the artifact as a whole was made from the data."""
    rows: int
    """Rows of the file that are theirs; 0 if there are no rows, as in a model's weights."""
    action: str


@dataclass(frozen=True)
class Reached:
    """Everything that a customer's, order's or review's data reached, in order of creation."""

    identifier: str
    kinds: tuple[IdentifierKind, ...]
    customers: tuple[str, ...]
    """The customer_id of each order's customer it stands for."""
    orders: tuple[str, ...]
    reviews: tuple[str, ...]
    prompts: tuple[str, ...]
    """The prompt_id of each prompt that was made from it, paraphrases included."""
    places: tuple[Place, ...]
    models: tuple[str, ...]
    notes: tuple[str, ...]
    """Places that no artifact names, and the doubts, each one sentence."""
    doubts: tuple[str, ...] = ()
    """What cannot be searched, as it is lost or unreadable."""

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

    @property
    def rows(self) -> dict[tuple[str, str], int]:
        """Return the number of their rows in each table, by its artifact's sha256 and its file."""
        return {(place.sha256, place.file): place.rows for place in self.places if place.file and place.rows}


def reached(inventory: Inventory, identifier: str, kind: AskedKind | None = None) -> Reached:
    """Find everything that a customer's, order's or review's data reached.

    A person has all their orders, an order its customer_id and its reviews, a review only itself.
    """
    identifier = identifier.strip()
    records = list(inventory.records.values())
    identities = Identities(inventory)
    doubts = _doubts(inventory, identities)
    kinds = tuple(each for each in _kinds(identities.tables, identifier) if kind in {None, ASKED_KINDS[each]})
    if not kinds:
        *others, last = (column for column, of in ASKED_KINDS.items() if kind in {None, of})
        is_name = " " in identifier and not any(character.isdigit() or character == "@" for character in identifier)
        blind = f"; besides, {len(doubts)} artifacts are lost or cannot be read whole, which `--verify` names"
        raise InputError(
            f"no table of the {len(records)} artifacts has {identifier!r} as "
            f"{', '.join(others)}{' or ' if others else ''}{last}; "
            + ("a name finds nobody, since two people may share one: give an ID" if is_name else CHECK_IT)
            + (blind if doubts else "")
        )
    _refuse_several_people(identities, kinds, identifier)
    known = _with_orders_and_reviews(identities, kinds, identifier)
    prompts = _with_paraphrases(identities.tables, _matches(identities.tables, known))
    theirs = _matches(identities.tables, known | dict.fromkeys(PROMPTS, prompts))
    rows = {(table.record.sha256, table.file): found.height for table, found in theirs}
    learned = spread(taught(records, rows), records)
    versions = read_versions(inventory)
    blind_spots = (*doubts.values(), *_unnamed_versions(inventory, versions, learned))
    return Reached(
        identifier=identifier,
        kinds=kinds,
        customers=tuple(sorted(known["customer_id"])),
        orders=tuple(sorted(known["order_id"])),
        reviews=tuple(sorted(known["review_id"])),
        prompts=tuple(sorted(prompts)),
        places=tuple(_places(records, rows, learned)),
        models=tuple(each.name for each in versions if any(record.sha256 in learned for record in each.promotions)),
        notes=(*_notes(inventory, identities, kinds, known), *blind_spots),
        doubts=blind_spots,
    )


def taught(records: Iterable[ArtifactRecord], rows: Mapping[tuple[str, str], int]) -> Iterator[str]:
    """Yield the artifacts whose weights learned directly from rows."""
    for record in records:
        in_training = rows.get((record.inputs.get("dataset", ""), TRAIN_FILE), 0) > 0
        if record.kind == "base" and in_training and WARM_START_FILE in record.files:
            yield record.sha256
        elif record.kind == "policy":
            # Every rollout is logged, so a row that was never drawn taught nothing.
            rollouts = [name for name in record.files if name.endswith(".parquet")]
            if any((record.sha256, name) in rows for name in rollouts) or (in_training and not rollouts):
                yield record.sha256


def spread(start: Iterable[str], records: Iterable[ArtifactRecord]) -> set[str]:
    """Return some artifacts that learned, with all that learned from them or answer with such weights.

    Creation times are ignored: an artifact made again, or on another machine, is newer than its derivatives.
    """
    found = set(start)
    inputs = {
        record.sha256: {
            sha256 for role, sha256 in record.inputs.items() if role in LEARNS_BY.get(record.kind, record.inputs)
        }
        for record in records
    }
    while more := {sha256 for sha256, sources in inputs.items() if not found.isdisjoint(sources)} - found:
        found |= more
    return found


def _doubts(inventory: Inventory, identities: Identities) -> dict[str, str]:
    """Return a sentence for each artifact that cannot be searched: lost, damaged, or with an unread file."""
    so = "so nobody is looked for in it, and what was made of its rows may have learned from them"
    doubts = {
        sha256: f"{kind} {short(sha256)} cannot be read ({why}), {so}"
        for sha256, (kind, why) in inventory.unreadable.items()
    }
    for sha256, path in identities.unread:
        doubts[sha256] = (
            f"{doubts[sha256]}; so it is with {path}" if sha256 in doubts else f"{path} cannot be read, {so}"
        )
    for record in inventory.records.values():
        for role, sha256 in record.inputs.items():
            if sha256 not in inventory.records and sha256 not in doubts:
                doubts[sha256] = (
                    f"the store has the {role} {short(sha256)} of {record.kind} {short(record.sha256)} no more, {so}"
                )
    return doubts


def _kinds(tables: Sequence[IdentifiedTable], identifier: str) -> tuple[IdentifierKind, ...]:
    """Return the columns that contain the identifier; a prompt's customer_id is a person's."""
    found = [
        column
        for column in PEOPLE
        if any(column in table.rows.columns and identifier in table.rows[column] for table in tables)
    ]
    return tuple(each for each in found if each != "customer_id" or "customer_unique_id" not in found)


def _refuse_several_people(identities: Identities, kinds: Sequence[IdentifierKind], identifier: str) -> None:
    """Refuse an identifier that is of one person as one thing, and of another as another: a shop may count from 1."""
    people = {kind: _people_of(identities, kind, identifier) for kind in kinds}
    first = people[kinds[0]]
    if len(kinds) > 1 and (not first or any(each != first for each in people.values())):
        raise InputError(
            f"{identifier!r} is {' and '.join(kinds)}, which are not known to be of one person; say which is meant "
            f"with tucano forget ID --kind {'|'.join(dict.fromkeys(ASKED_KINDS[kind] for kind in kinds))}"
        )


def _people_of(identities: Identities, kind: IdentifierKind, identifier: str) -> set[str]:
    known = _with_orders_and_reviews(identities, (kind,), identifier)
    if kind == "review_id":
        orders = identities.looked_up("review_id", known["review_id"], "order_id")
        known["customer_id"] |= identities.looked_up("order_id", orders, "customer_id")
    people = identities.looked_up("customer_id", known["customer_id"], "customer_unique_id")
    for table, rows in _matches(identities.tables, {kind: {identifier}}):
        if table.of_prompts and "customer_id" in rows.columns:
            people |= set(rows["customer_id"].drop_nulls())
    return people | known["customer_unique_id"]


def _with_orders_and_reviews(
    identities: Identities, kinds: Sequence[IdentifierKind], identifier: str
) -> dict[str, set[str]]:
    """Return the related identifiers by column: a person's orders, and the reviews of an order."""
    known: dict[str, set[str]] = {column: {identifier} if column in kinds else set() for column in PEOPLE}
    known["customer_id"] |= identities.looked_up("order_id", known["order_id"], "customer_id")
    known["customer_id"] |= identities.looked_up("customer_unique_id", known["customer_unique_id"], "customer_id")
    known["order_id"] |= identities.looked_up("customer_id", known["customer_id"], "order_id")
    known["review_id"] |= identities.looked_up("order_id", known["order_id"], "review_id")
    of_prompts = (each.rows for each in identities.tables if each.of_prompts and "customer_id" in each.rows.columns)
    if "customer_id" in kinds and any(identifier in rows["customer_id"] for rows in of_prompts):
        # Prompts without the shop's tables, which would name the person.
        known["customer_unique_id"].add(identifier)
    return known


def _matches(
    tables: Sequence[IdentifiedTable], known: Mapping[str, set[str]]
) -> list[tuple[IdentifiedTable, "pl.DataFrame"]]:
    """Return the tables with matching rows, each with these rows."""
    import polars as pl

    found = []
    for table in tables:
        values = {**known, "customer_id": known.get("customer_unique_id", set())} if table.of_prompts else known
        conditions = [pl.col(name).is_in(sorted(values[name])) for name in table.rows.columns if values.get(name)]
        rows = table.rows.filter(pl.any_horizontal(conditions)) if conditions else table.rows.clear()
        if rows.height:
            found.append((table, rows))
    return found


def _with_paraphrases(
    tables: Sequence[IdentifiedTable], of_person: Sequence[tuple[IdentifiedTable, "pl.DataFrame"]]
) -> set[str]:
    """Return the prompts of these rows, and their paraphrases."""
    prompts = {prompt for table, rows in of_person if table.of_prompts for prompt in rows["prompt_id"]}
    kin = {
        pair
        for table in tables
        if set(PROMPTS) <= set(table.rows.columns)
        for pair in table.rows.select("parent_id", "prompt_id").drop_nulls().iter_rows()
    }
    while more := {prompt for parent, prompt in kin if parent in prompts} - prompts:
        prompts |= more
    return prompts - {None}


def _places(
    records: Iterable[ArtifactRecord], rows: Mapping[tuple[str, str], int], learned: Collection[str]
) -> Iterator[Place]:
    for record in records:
        for name in record.files:
            if count := rows.get((record.sha256, name)):
                yield Place(record.sha256, record.kind, name, count, ROW_ACTION)
        if record.sha256 in learned:
            yield Place(record.sha256, record.kind, None, 0, LEARNED_ACTION)


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


def _notes(
    inventory: Inventory, identities: Identities, kinds: Sequence[IdentifierKind], known: Mapping[str, set[str]]
) -> Iterator[str]:
    if "customer_unique_id" not in kinds:
        for person in identities.looked_up("customer_id", known["customer_id"], "customer_unique_id"):
            yield f"this is part of what is known of the person {person}; ask for that to see all"
    if any(table.file.startswith(STORE_FOLDER) for table, _ in _matches(identities.tables, known)):
        yield AGGREGATES_NOTE
    yield ELSEWHERE_NOTE
    for record in inventory.of_kind("monitoring"):
        yield (
            f"monitoring {short(record.sha256)} keeps prompts and answers of production without ids: `tucano forget` "
            "looks there for what this person wrote"
        )
