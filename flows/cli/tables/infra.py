"""Terminal output of `tucano infra`: changes made on a server, or its differences from the files."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from flows.deploy.plan import Difference, Plan, PlannedChange, Status
from flows.runtime.console import print_table, show, warn

MOST_SHOWN = 60
"""Most characters of a value in the table; `--json` has all of it."""
FOUND: Mapping[Status, str] = {"missing": "missing", "differs": "differs", "same": "same"}
DONE: Mapping[Status, str] = {"missing": "made", "differs": "changed", "same": "same"}


def print_applied(plan: Plan, server: str) -> None:
    """Print what was created, changed or left, and the warnings."""
    _print_changes(f"Applied to {server}", plan.changes, DONE)
    _print_besides(plan)


def print_checked(plan: Plan, server: str) -> None:
    """Print what is missing or differs, field by field, and the warnings."""
    _print_changes(f"{server} against the files", plan.changes, FOUND)
    _print_besides(plan)


def as_document(plan: Plan, server: str, words: Mapping[Status, str]) -> dict[str, Any]:
    """Return the whole comparison as a JSON document; `words` names each status."""
    return {
        "server": server,
        "things": [
            {
                "kind": change.wanted.kind,
                "name": change.wanted.name,
                "status": words[change.status],
                "differences": [
                    {"field": found.field, "here": found.here, "there": found.there} for found in change.differences
                ],
            }
            for change in plan.changes
        ],
        "besides": [{"kind": kind, "name": name} for kind, name in plan.besides],
        "warnings": list(plan.warnings),
    }


def _print_changes(title: str, changes: Sequence[PlannedChange], words: Mapping[Status, str]) -> None:
    differ = any(change.differences for change in changes)
    print_table(
        title,
        ("kind", "name", "status", *(["field: here, there"] if differ else [])),
        [
            (
                change.wanted.kind,
                change.wanted.name,
                words[change.status],
                *(["\n".join(map(_line, change.differences))] if differ else []),
            )
            for change in changes
        ],
        texts=("name", "status", "field: here, there"),
    )


def _print_besides(plan: Plan) -> None:
    for kind, name in plan.besides:
        show(f"besides: the {kind} {name} is on the server and in no file; it is left alone")
    for warning in plan.warnings:
        warn(warning)


def _line(difference: Difference) -> str:
    return f"{difference.field}: {_shown(difference.here)}, {_shown(difference.there)}"


def _shown(value: Any) -> str:
    text = "none" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
