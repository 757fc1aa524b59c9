"""Critic of churn: reasons that say nothing, harm or lie, and good reasons in an analyst's words."""

import random
import re
from collections.abc import Mapping
from typing import Any, Final

from tasks.audit.critic.alteration import Case, CriticAlteration
from tasks.audit.critic.json_changes import (
    FieldChange,
    Fields,
    added_to,
    instead_in,
    layouts,
    read,
    spoiled_forms,
    with_fields,
)
from tasks.audit.critic.wordings import Slots, read_wordings, written
from tasks.commerce.text.portuguese_numbers import numbers_in

_WORDS: Final[Mapping[str, Any]] = read_wordings("churn")
_LINE: Final = re.compile(r"^([^:\n]+): (.+)$", re.MULTILINE)
_NAMES: Final = {
    "state": "Estado",
    "orders": "Pedidos",
    "category": "Categoria favorita",
    "spent": "Total gasto",
    "instalments": "Máximo de parcelas",
    "days": "Dias desde a última compra",
    "last": "Última nota",
    "mean": "Nota média",
    "late": "Entregas com atraso",
    "missing": "Pedidos não entregues",
}


def slots_of(case: Case, generator: random.Random) -> Slots | None:
    """Return the profile's values, false ones, and empty slots that say of which shoppers a text is true."""
    lines = dict(_LINE.findall(case.prompt))
    if any(name not in lines for name in _NAMES.values()):
        return None
    known = {slot: lines[name] for slot, name in _NAMES.items()}
    orders, days, late = int(known["orders"]), int(numbers_in(known["days"])[0]), int(known["late"])
    last = numbers_in(known["last"])
    left = read(case)["churn"]
    truths = {
        "leaves": left,
        "stays": not left,
        "single": orders == 1,
        "returned": orders > 1,
        "silent": days > 120,
        "recent": days <= 120,
        "unhappy": bool(last) and last[0] <= 2,
        "happy": bool(last) and last[0] >= 4,
        "rated": bool(last),
        "delayed": late > 0,
        "on_time": late == 0,
    }
    counts = {"orders_said": orders, "late_said": late, "days_said": days, "months_said": max(round(days / 30), 2)}
    said = {
        **{slot: _counted(slot, number) for slot, number in counts.items()},
        "false_orders": str(orders + generator.randint(2, 6)),
        "false_days": str(days + generator.choice((45, 90, 200))),
        "false_late": str(late + generator.randint(2, 4)),
    }
    return known | said | {name: "" for name, holds in truths.items() if holds}


def _counted(slot: str, number: int) -> str:
    one, several = _WORDS["nouns"][slot]
    return f"{number} {one if number == 1 else several}"


def _opposite(case: Case, fields: Fields, generator: random.Random) -> Mapping[str, Any]:  # noqa: ARG001 - signature
    return {"churn": not fields["churn"], "risk_score": round(1 - fields["risk_score"], 2)}


def _risk(leaves: float, stays: float) -> FieldChange:
    return lambda _, fields, __: {"risk_score": leaves if fields["churn"] else stays}


_VALUES: Final[tuple[tuple[str, FieldChange], ...]] = (
    ("opposite", _opposite),
    ("other_answer", lambda _, fields, __: {"churn": not fields["churn"]}),
    ("other_risk", lambda _, fields, __: {"risk_score": round(1 - fields["risk_score"], 2)}),
    (
        "certain_of_the_opposite",
        lambda _, fields, __: {"churn": not fields["churn"], "risk_score": 1 - fields["churn"]},
    ),
    ("risk_in_words", lambda _, __, ___: dict(_WORDS["said_risk"])),
    ("no_reason", lambda _, __, ___: {"reasoning": "", "risk_score": 0.5}),
)
_RISKS: Final = ((0.85, 0.15), (0.95, 0.05), (0.88, 0.12), (0.8, 0.2))

ALTERATIONS: Final = (
    *(CriticAlteration(name, "costly", with_fields(change)) for name, change in _VALUES),
    *written("churn", slots_of, {"reason": instead_in("reasoning"), "added": added_to("reasoning")}, "reason"),
    *spoiled_forms(_opposite),
    *(
        CriticAlteration(
            f"risk_{leaves}",
            "harmless",
            with_fields(_risk(leaves, stays)),
        )
        for leaves, stays in _RISKS
    ),
    *layouts(10),
)
