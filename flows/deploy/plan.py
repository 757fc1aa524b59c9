"""Comparison of a server with the files, thing by thing and field by field."""

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
    """Compared with the server's: names in place of ids, and nothing that the server decides."""
    write: Callable[[SyncPrefectClient, UUID | None], None]
    """Create it, or change the one with this id."""


@dataclass(frozen=True)
class Found:
    """A thing that the server has."""

    kind: Kind
    name: str
    id: UUID
    document: Mapping[str, Any]


@dataclass(frozen=True)
class Difference:
    """A value that differs between the files and the server."""

    field: str
    """Path of the value, such as `parameters.config.seed`."""
    here: Any
    there: Any


@dataclass(frozen=True)
class PlannedChange:
    """The change of one thing, if any."""

    wanted: Wanted
    id: UUID | None
    """The server's id; None where it does not have the thing."""
    differences: tuple[Difference, ...]

    @property
    def status(self) -> Status:
        """Return whether the server lacks it, has it differently, or has it as declared."""
        if self.id is None:
            return "missing"
        return "differs" if self.differences else "same"


@dataclass(frozen=True)
class Plan:
    """The whole comparison."""

    changes: tuple[PlannedChange, ...]
    """In an order in which they can be written."""
    besides: tuple[tuple[Kind, str], ...]
    """Things on the server that no file names; left alone."""
    warnings: tuple[str, ...]

    @property
    def due(self) -> tuple[PlannedChange, ...]:
        """The changes that are missing or differ."""
        return tuple(change for change in self.changes if change.status != "same")


def compare(wanted: Sequence[Wanted], found: Sequence[Found], warnings: Sequence[str]) -> Plan:
    """Compare wanted with found things, matched by kind and name."""
    there = {(thing.kind, thing.name): thing for thing in found}
    named = {(thing.kind, thing.name) for thing in wanted}
    return Plan(
        changes=tuple(_change(thing, there.get((thing.kind, thing.name))) for thing in wanted),
        besides=tuple(sorted(key for key in there if key not in named)),
        warnings=tuple(warnings),
    )


def _change(wanted: Wanted, found: Found | None) -> PlannedChange:
    if found is None:
        return PlannedChange(wanted, None, ())
    return PlannedChange(wanted, found.id, tuple(differences(wanted.document, found.document)))


def differences(here: Any, there: Any, way: str = "") -> Iterator[Difference]:
    """Yield each value that differs between two JSON documents; what one of them lacks is None there."""
    if isinstance(here, Mapping) and isinstance(there, Mapping):
        for key in sorted({*here, *there}):
            yield from differences(here.get(key), there.get(key), f"{way}.{key}" if way else key)
    elif here != there:
        yield Difference(way, here, there)
