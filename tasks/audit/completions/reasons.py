"""Reasons of churn that say one figure of the profile, and the same with a figure that it does not have."""

import json
import re
from typing import Final

from tasks.audit.completions.asked import Asked, Completions
from tasks.audit.completions.json_objects import fields_of

_LINES: Final = {
    "orders": re.compile(r"^Pedidos: (\d+)$", re.MULTILINE | re.ASCII),
    "spent": re.compile(r"^Total gasto: R\$ ([\d.]+)$", re.MULTILINE | re.ASCII),
    "days": re.compile(r"^Dias desde a última compra: (\d+)$", re.MULTILINE | re.ASCII),
    "mean": re.compile(r"^Nota média: ([\d,]+)$", re.MULTILINE | re.ASCII),
    "last": re.compile(r"^Última nota: (\d)$", re.MULTILINE | re.ASCII),
    "late": re.compile(r"^Entregas com atraso: (\d+)$", re.MULTILINE | re.ASCII),
    "lost": re.compile(r"^Pedidos não entregues: (\d+)$", re.MULTILINE | re.ASCII),
}
_SAID: Final = {
    "orders": ("O cliente fez {0} {1}", "pedido", "pedidos"),
    "spent": ("O cliente gastou R$ {0} na loja", "", ""),
    "days": ("A última compra do cliente foi há {0} {1}", "dia", "dias"),
    "mean": ("O cliente deu nota média {0}", "", ""),
    "last": ("A última nota do cliente foi {0}", "", ""),
    "late": ("O cliente teve {0} {1} com atraso", "entrega", "entregas"),
    "lost": ("O cliente teve {0} {1}", "pedido não entregue", "pedidos não entregues"),
}
DAYS_OF_A_MONTH: Final = 30
FEWEST_MONTHS: Final = 3
"""Of fewer months nobody says how many they are about."""


def figures(asked: Asked) -> Completions:
    """Return the right answer with each figure of its profile as the reason, and with another figure there."""
    fields = fields_of(asked.right)
    conclusion = f"{fields['reasoning'][:1].lower()}{fields['reasoning'][1:]}"

    def answer(clause: str) -> str:
        # After `mas` the conclusion weighs more than what a figure speaks for.
        reasoning = f"{clause}, mas {conclusion}"
        return json.dumps({**fields, "reasoning": reasoning}, ensure_ascii=False, separators=(",", ":"))

    found: dict[str, str] = {}
    for name, line in _LINES.items():
        written = line.search(asked.prompt)
        # That there was none is said in other words.
        if written is None or written[1] == "0":
            continue
        found[f"figure of {name}"] = answer(_said(name, written[1]))
        found[f"another figure of {name}"] = answer(_said(name, _other(name, written[1])))
    days = _LINES["days"].search(asked.prompt)
    months = round(int(days[1]) / DAYS_OF_A_MONTH) if days else 0
    if months >= FEWEST_MONTHS:
        found["figure in months"] = answer(f"A última compra do cliente foi há cerca de {months} meses")
        found["another figure in months"] = answer(f"A última compra do cliente foi há cerca de {3 * months} meses")
    return found


def _said(name: str, number: str) -> str:
    template, one, more = _SAID[name]
    return template.format(number, one if number == "1" else more)


def _other(name: str, number: str) -> str:
    if name in {"mean", "last"}:
        low = float(number.replace(",", ".")) < 3
        return ("4,7" if low else "1,3") if name == "mean" else ("5" if low else "1")
    return str(2 * int(number.replace(".", "")) + 7)
