"""Frames, forms of names and actions of `data/evidence`, whose files say what each key means."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from tasks.commerce.text.lexicons import Entry, read_data, read_entries
from tasks.commerce.text.text_form import fold

DATA_FILES: Final = ("data/evidence/actions.toml", "data/evidence/frames.toml", "data/evidence/retail.toml")
OTHER: Final = "outra"
"""The kind of rows that are none of those that are known."""
_ARTICLES: Final = {"nenhum": ("em", "de", ""), "o": ("no", "do", "o"), "a": ("na", "da", "a")}
_YEAR: Final = re.compile("(?:19|20)[0-9]{2}")


@cache
def frames() -> Any:
    """Return sentences, forms of names and lists of rows."""
    return read_entries("evidence/frames.toml")


@cache
def figure_columns() -> Mapping[str, Any]:
    """Return the columns by their names in small letters; one that is as another has all of that one but its noun."""
    known: Mapping[str, Any] = frames().colunas
    return {name: Entry({"como": name} | known[own.get("como", name)] | own) for name, own in known.items()}


@cache
def actions() -> Mapping[str, Any]:
    """Return the catalogue by the actions' ids."""
    return {each.id: each for each in read_entries("evidence/actions.toml").acoes}


@cache
def actions_on(kind: str, column: str) -> tuple[Any, ...]:
    """Return the actions that a kind of rows and a column, by the one that it is as, may have."""
    return tuple(each for each in actions().values() if kind in each.linhas and column in each.colunas)


def kind_of(kind: str, row: str) -> str:
    """Return the kind of a row of a table of a kind: `OTHER` where its name is none that is known."""
    known = {
        "estado": fold(row) in _states(),
        "estado do vendedor": fold(row) in _states(),
        "mês": month_of(row) is not None,
        "dia da compra": row in frames().dias,
        "pagamento": fold(row) in frames().pagamentos,
    }
    return kind if kind in frames().linhas and known.get(kind, True) else OTHER


def forms_of(kind: str, row: str) -> dict[str, str]:
    """Return the forms of a row's name: in it, of it, towards it, and as a subject where it has one."""
    month, _, year = row.partition("/")
    articles = (_ARTICLES[key] for key, names in frames().artigos.items() if plain_name(row) in names)
    words = dict(zip(("no", "do", "art"), next(articles, ("", "", "")), strict=True))
    words |= {"nome": row, "mes": f"{month} de {year}"}
    words |= dict(zip(("dia_em", "dia_de"), frames().dias.get(row, ("", "")), strict=True))
    templates = {"ser": "é", "ficar": "fica"} | frames().linhas[kind_of(kind, row)]
    return {key: " ".join(text.format(**words).split()) for key, text in templates.items()} | {"nome": row}


def plain_name(row: str) -> str:
    """Return the state that a name or code is of, and any other name in small letters without accents."""
    return _states().get(fold(row), fold(row))


@cache
def _states() -> dict[str, str]:
    return {fold(written): name for code, name in frames().siglas.items() for written in (code, name)}


def is_sum(kind: str, row: str) -> bool:
    """Return whether a row is named as one that sums up others, such as `Total 2018`, and a region beside states."""
    return any(re.fullmatch(frames().somas[key], fold(row)) for key in ("todas", kind) if key in frames().somas)


def is_rest(row: str) -> bool:
    """Return whether a row is what others leave, or has no name, such as `Demais estados` and `null`."""
    return re.fullmatch(frames().restos, fold(row)) is not None


def is_retail(row: str) -> bool:
    """Return whether a category is one of the ordinary retail's that may be advertised without a person's look."""
    return fold(row) in _retail()


@cache
def _retail() -> frozenset[str]:
    return frozenset(map(fold, read_data("evidence/retail.toml")["categorias"]))


def month_of(row: str) -> int | None:
    """Return the place of a row's month in the count of all months; None where it is no month of a year."""
    name, _, year = row.partition("/")
    return 12 * int(year) + frames().meses.index(name) if name in frames().meses and _YEAR.fullmatch(year) else None
