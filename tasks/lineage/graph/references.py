"""References to a model version or alias, artifact, run or prompt."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import polars as pl

from schemas.errors import InputError
from tasks.lineage.graph.models import ModelVersion
from tasks.lineage.graph.rows import Identities, PlacedRow
from tasks.lineage.store.inventory import Inventory

CHAMPION: Final = "champion"
"""The alias that there is none of until the gate promotes a version."""
MOST_NAMED: Final = 5
_DIGEST = re.compile(r"[0-9a-f]{8,64}")
_NUMBER = re.compile(r"\d{1,7}")
_RUN = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ALIAS = re.compile(r"[A-Za-z][\w.-]*")
WHAT_THERE_IS: Final = (
    "a version (3, NAME/3), an alias (champion), an artifact's or a prompt's digest or its first 8 characters or more, "
    "or an MLflow or Prefect run; with --forget the id of a review, an order or a customer"
)

ReferenceKind = Literal["version", "artifact", "run", "prompt"]


@dataclass(frozen=True)
class ResolvedReference:
    """Resolved reference of a user."""

    text: str
    kind: ReferenceKind
    keys: tuple[str, ...]
    """The nodes that it names; several for a run with several artifacts."""
    rows: tuple[PlacedRow, ...] = ()


@dataclass(frozen=True)
class Registered:
    """Registry facts, requested only as a last resort: MLflow's import takes seconds."""

    model: str
    """The model of a bare number or alias."""
    aliases: Mapping[str, str]
    """The version of each alias, as far as known without asking."""
    ask_alias: Callable[[str], str | None]
    ask_run: Callable[[str], Sequence[str]]
    """Returns the sha256 of each artifact of a pipeline's run; empty if there is no such run."""


def find_reference(
    text: str,
    inventory: Inventory,
    digests: Sequence[str],
    versions: Sequence[ModelVersion],
    registered: Registered,
    identities: Callable[[], Identities],
) -> ResolvedReference:
    """Resolve a reference; `digests` are of all artifacts, also of deleted ones that others were made from."""
    wanted = text.strip()
    if not wanted:
        raise InputError(f"REF is empty; give {WHAT_THERE_IS}")
    found = _version(wanted, versions, registered)
    found = found or _only(wanted, list(_candidates(wanted, inventory, digests, identities)))
    if found is None and _RUN.fullmatch(wanted.lower()) and (made := registered.ask_run(wanted.lower())):
        in_order = [sha256 for sha256 in inventory.records if sha256 in made]
        found = ResolvedReference(wanted, "run", tuple(dict.fromkeys([*in_order, *made])))
    if found is None and _ALIAS.fullmatch(wanted) and not _DIGEST.fullmatch(wanted):
        number = registered.ask_alias(wanted)
        found = None if number is None else _version(f"{registered.model}/{number}", versions, registered)
        if number is not None and found is None:
            raise _unknown_version(f"{registered.model}/{number}", versions)
    if found is not None:
        return found
    if _NUMBER.fullmatch(wanted.rpartition("/")[2]):
        raise _unknown_version(wanted, versions)
    if wanted == CHAMPION:
        raise InputError(f"no version of {registered.model} is `{CHAMPION}` yet; {_known(versions)}")
    raise InputError(f"{wanted!r} names nothing in the artifact store {inventory.root}; give {WHAT_THERE_IS}")


def _version(wanted: str, versions: Sequence[ModelVersion], registered: Registered) -> ResolvedReference | None:
    """Find a version by its number, with or without the model's name, or by a known alias."""
    model, _, number = wanted.rpartition("/")
    name = f"{model or registered.model}/{registered.aliases.get(number, number)}"
    for each in versions:
        if each.name == name:
            return ResolvedReference(wanted, "version", (each.key,))
    if wanted in registered.aliases:
        raise _unknown_version(name, versions)
    return None


def _unknown_version(wanted: str, versions: Sequence[ModelVersion]) -> InputError:
    return InputError(f"no promotion in this state folder made version {wanted}; {_known(versions)}")


def _known(versions: Sequence[ModelVersion]) -> str:
    return f"the versions known here: {', '.join(each.name for each in versions) or 'none'}"


def _candidates(
    wanted: str, inventory: Inventory, digests: Sequence[str], identities: Callable[[], Identities]
) -> Iterator[ResolvedReference]:
    """Yield everything that a digest or a run's id may name."""
    beginning = wanted.lower() if _DIGEST.fullmatch(wanted.lower()) else None
    for sha256 in digests if beginning else ():
        if beginning and sha256.startswith(beginning):
            yield ResolvedReference(wanted, "artifact", (sha256,))
    records = inventory.records.values()
    if made := [each.sha256 for each in records if wanted.lower() in {each.mlflow_run_id, each.prefect_run_id}]:
        yield ResolvedReference(wanted, "run", tuple(made))
    by_prompt: dict[str, list[PlacedRow]] = {}
    for row in identities().placed(pl.col("prompt_id").str.starts_with(beginning)) if beginning else ():
        by_prompt.setdefault(row.prompt_id, []).append(row)
    for prompt_id, placed in by_prompt.items():
        yield ResolvedReference(wanted, "prompt", (f"prompt:{prompt_id}",), rows=tuple(placed))


def _only(wanted: str, found: Sequence[ResolvedReference]) -> ResolvedReference | None:
    """Return the one that is named, whole ids first."""
    of_id = {wanted.lower(), f"prompt:{wanted.lower()}"}
    chosen = [each for each in found if each.kind == "run" or of_id & set(each.keys)] or found
    if len(chosen) > 1:
        named = [" and ".join(key.replace(":", " ") for key in each.keys) for each in chosen[:MOST_NAMED]]
        more = f" and {len(chosen) - MOST_NAMED} more" if len(chosen) > MOST_NAMED else ""
        raise InputError(f"{wanted!r} may be {len(chosen)} things: {', '.join(named)}{more}; write more of it")
    return chosen[0] if chosen else None
