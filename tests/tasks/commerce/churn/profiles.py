"""Profiles of shoppers with reasons, good and bad, of `reasons.toml`."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

LINES: Final = (
    "Estado",
    "Pedidos",
    "Categoria favorita",
    "Total gasto",
    "Máximo de parcelas",
    "Dias desde a última compra",
    "Última nota",
    "Nota média",
    "Entregas com atraso",
    "Pedidos não entregues",
)
FILE: Final = Path(__file__).with_name("reasons.toml")


class Case(NamedTuple):
    """A reason for an answer about one shopper."""

    prompt: str
    leaves: bool
    reason: str


def prompt_of(*values: object) -> str:
    lines = (f"{line}: {value}" for line, value in zip(LINES, values, strict=True))
    return "\n".join(("Este cliente vai deixar de comprar?", *lines))


def cases(kind: str) -> Iterator[Case]:
    """Yield the `good` or the `bad` reasons."""
    for profile in tomllib.loads(FILE.read_text(encoding="utf-8"))["profile"]:
        for reason in profile[kind]:
            yield Case(prompt_of(*profile["values"]), profile["churn"], reason)
