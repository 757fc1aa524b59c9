"""What a server has, held against what the files say, thing by thing and field by field."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient

Kind = Literal["work pool", "deployment", "automation"]
Status = Literal["missing", "differs", "same"]


@dataclass(frozen=True)
class Wanted:
    """A thing that the server is to have."""

    kind: Kind
    name: str
    document: Mapping[str, Any]
    """What is held against the server's: names in place of ids, and nothing that the server decides."""
    write: Callable[[SyncPrefectClient, UUID | None], None]
    """Makes it, or changes the one with this id."""


@dataclass(frozen=True)
class Found:
    """A thing that the server has."""

    kind: Kind
    name: str
    id: UUID
    document: Mapping[str, Any]


@dataclass(frozen=True)
class Difference:
    """A value that is another in the files than on the server."""

    field: str
    """The way to it, such as `parameters.config.seed`."""
    here: Any
    there: Any


@dataclass(frozen=True)
class Change:
    """What becomes of one thing."""

    wanted: Wanted
    id: UUID | None
    """The server's; None where it has none."""
    differences: tuple[Difference, ...]

    @property
    def status(self) -> Status:
        """Say how the server stands to the files."""
        if self.id is None:
            return "missing"
        return "differs" if self.differences else "same"


@dataclass(frozen=True)
class Plan:
    """The whole comparison."""

    changes: tuple[Change, ...]
    """In the order in which they can be written."""
    besides: tuple[tuple[Kind, str], ...]
    """What the server has and no file names; it is left alone."""
    warnings: tuple[str, ...]

    @property
    def due(self) -> tuple[Change, ...]:
        """What is missing or differs."""
        return tuple(change for change in self.changes if change.status != "same")


def compare(wanted: Sequence[Wanted], found: Sequence[Found], warnings: Sequence[str]) -> Plan:
    """Hold what is wanted against what was found; kind and name together say what is what."""
    there = {(thing.kind, thing.name): thing for thing in found}
    named = {(thing.kind, thing.name) for thing in wanted}
    return Plan(
        changes=tuple(_change(thing, there.get((thing.kind, thing.name))) for thing in wanted),
        besides=tuple(sorted(key for key in there if key not in named)),
        warnings=tuple(warnings),
    )


def _change(wanted: Wanted, found: Found | None) -> Change:
    if found is None:
        return Change(wanted, None, ())
    return Change(wanted, found.id, tuple(differences(wanted.document, found.document)))


def differences(here: Any, there: Any, way: str = "") -> Iterator[Difference]:
    """Give each value that differs between two JSON documents; what one of them lacks is None there."""
    if isinstance(here, Mapping) and isinstance(there, Mapping):
        for key in sorted({*here, *there}):
            yield from differences(here.get(key), there.get(key), f"{way}.{key}" if way else key)
    elif here != there:
        yield Difference(way, here, there)
