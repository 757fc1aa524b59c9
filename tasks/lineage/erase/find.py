"""Find a person's data: every table with their rows, and every artifact and model that learned from one."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.errors import InputError
from schemas.store.store import Person
from tasks.lineage.graph.graph import read_versions
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

ROW_ACTION: Final = "make it again without the rows, and remove this artifact"
LEARNED_ACTION: Final = "train again without the rows, and remove this artifact; serve no model of it"


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

    kinds: tuple[IdentifierKind, ...]
    person: Person
    """Their identifiers, with the prompt_id of each prompt that was made from them, paraphrases included."""
    places: tuple[Place, ...]
    doubts: tuple[str, ...]
    """What cannot be searched, as it is lost or unreadable, each one sentence."""

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
        remedy = "check it, and that the state folder is the one that the models were made in"
        if is_name:
            remedy = "a name finds nobody, since two people may share one: give an ID"
        if doubts:
            remedy += f"; besides, {len(doubts)} artifacts are lost or cannot be read whole, which `--verify` names"
        raise InputError(
            f"no table of the {len(records)} artifacts has {identifier!r} as "
            f"{', '.join(others)}{' or ' if others else ''}{last}; {remedy}"
        )
    if len(kinds) > 1:
        # A shop may count from 1, so that customer 7 and order 7 are of two persons.
        raise InputError(
            f"{identifier!r} is {' and '.join(kinds)}; say which is meant with tucano forget ID --kind "
            f"{'|'.join(dict.fromkeys(ASKED_KINDS[each] for each in kinds))}"
        )
    person = _whose(identities, kinds[0], identifier)
    person = replace(person, prompts=_with_paraphrases(identities.tables, _matches(identities.tables, person)))
    theirs = _matches(identities.tables, person)
    rows = {(table.record.sha256, table.file): found.height for table, found in theirs}
    learned = spread(taught(records, rows), records)
    unnamed = _unnamed_versions(inventory, learned)
    return Reached(kinds, person, tuple(_places(records, rows, learned)), (*doubts.values(), *unnamed))


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


def _whose(identities: Identities, kind: IdentifierKind, identifier: str) -> Person:
    """Return the related identifiers: a person's orders, and the reviews of an order."""
    known: dict[str, set[str]] = {column: {identifier} if column == kind else set() for column in PEOPLE}
    known["customer_id"] |= identities.looked_up("order_id", known["order_id"], "customer_id")
    known["customer_id"] |= identities.looked_up("customer_unique_id", known["customer_unique_id"], "customer_id")
    known["order_id"] |= identities.looked_up("customer_id", known["customer_id"], "order_id")
    known["review_id"] |= identities.looked_up("order_id", known["order_id"], "review_id")
    if kind == "customer_id":
        # Prompts without the shop's tables, which would name the person.
        known["customer_unique_id"].add(identifier)
    people, customers, orders, reviews = (frozenset(known[column]) for column in PEOPLE)
    return Person(people, orders, reviews, frozenset(), customers)


def _matches(tables: Sequence[IdentifiedTable], person: Person) -> list[tuple[IdentifiedTable, "pl.DataFrame"]]:
    """Return the tables with a person's rows, each with these rows."""
    found = ((table, table.rows.filter(person.theirs(table.rows.columns))) for table in tables)
    return [(table, rows) for table, rows in found if rows.height]


def _with_paraphrases(
    tables: Sequence[IdentifiedTable], of_person: Sequence[tuple[IdentifiedTable, "pl.DataFrame"]]
) -> frozenset[str]:
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
    return frozenset(prompts - {None})


def _places(
    records: Iterable[ArtifactRecord], rows: Mapping[tuple[str, str], int], learned: Collection[str]
) -> Iterator[Place]:
    for record in records:
        for name in record.files:
            if count := rows.get((record.sha256, name)):
                yield Place(record.sha256, record.kind, name, count, ROW_ACTION)
        if record.sha256 in learned:
            yield Place(record.sha256, record.kind, None, 0, LEARNED_ACTION)


def _unnamed_versions(inventory: Inventory, reached: set[str]) -> Iterator[str]:
    """Report promotions whose registered version is unknown."""
    named = {record.sha256 for version in read_versions(inventory) for record in version.promotions}
    lost = [sha256 for sha256, (kind, _) in inventory.unreadable.items() if kind == "promotion"]
    lost += [each.sha256 for each in inventory.of_kind("promotion") if each.sha256 in reached - named]
    for sha256 in lost:
        yield (
            f"what promotion {short(sha256)} decided cannot be read, so the model's version that it registered is not "
            "among these"
        )
