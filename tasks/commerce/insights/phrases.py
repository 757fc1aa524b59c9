"""Frames, forms of names and actions of `data/evidence`, read once."""

import re
from functools import cache, cached_property
from typing import Any, Final, Literal

from pydantic import Field, field_validator

from tasks.commerce.text.lexicons import PhraseData, read_data
from tasks.commerce.text.text_form import fold

DATA_FILES: Final = ("data/evidence/actions.toml", "data/evidence/frames.toml")

Fact = Literal["valor", "maior", "menor", "melhor", "pior", "acima", "abaixo", "razao", "subiu", "caiu"]
Side = Literal["alto", "baixo"]
Words = dict[str, str]
OTHER: Final = "outra"
"""The kind of rows that are none of those that are known."""
_ARTICLES: Final = {"nenhum": ("em", "de", ""), "o": ("no", "do", "o"), "a": ("na", "da", "a")}
_YEAR: Final = re.compile("(?:19|20)[0-9]{2}")


class FigureColumn(PhraseData):
    """Column of figures; `frames.toml` says what each field means."""

    como: str
    o: str
    pron: Literal["a", "o"]
    unidade: Literal["R$", "%", "unidades", "nota"]
    com: str
    um: str = ""
    melhor: Side | None = None
    graus: Words = Field(default_factory=dict)
    soma: bool = False
    media: bool = False
    passo: float = Field(gt=0)
    relativo: bool = False
    age_acima: float | None = None
    age_abaixo: float | None = None
    vezes: bool = False


class RowForms(PhraseData):
    """Forms of a row's name, by its kind."""

    em: str
    de: str
    envio: str
    pedidos: str
    somado: str = ""
    o: str = ""
    do_estado: str = ""
    ser: str = "é"
    ficar: str = "fica"


class Frame(PhraseData):
    """Sentence with slots, and the facts and columns that it may say; all columns if it names none."""

    fatos: tuple[Fact, ...]
    texto: str
    colunas: tuple[str, ...] = ()


class Action(PhraseData):
    """Advice, and the findings beside which it makes sense."""

    id: str = Field(pattern="^[a-z_]+$")
    texto: str
    colunas: tuple[str, ...]
    lado: Literal["alto", "baixo", "ambos"]
    linhas: tuple[str, ...]
    opostos: tuple[str, ...] = ()
    leve: bool = False
    amostra: bool = False
    promove: bool = False
    divulga: bool = False


class EvidencePhrases(PhraseData):
    """All of `data/evidence`."""

    meses: tuple[str, ...] = Field(min_length=12, max_length=12)
    somas: dict[str, str]
    restos: str
    colunas: dict[str, FigureColumn]
    siglas: dict[str, str]
    artigos: dict[Literal["nenhum", "o", "a"], frozenset[str]]
    linhas: dict[str, RowForms]
    dias: dict[str, tuple[str, str]]
    pagamentos: frozenset[str]
    frases: tuple[Frame, ...]
    amostra: dict[Literal["varios", "um"], str]
    titulo: dict[Literal["com_periodo", "sem_periodo"], str]
    acoes: tuple[Action, ...]

    @field_validator("colunas", mode="before")
    @classmethod
    def _take_over(cls, columns: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {name: {"como": name} | columns[own.get("como", name)] | own for name, own in columns.items()}

    def kind_of(self, kind: str, row: str) -> str:
        """Return the kind of a row of a table of a kind: `OTHER` where its name is none that is known."""
        is_state = fold(row) in self._states
        known = {
            "estado": is_state,
            "estado do vendedor": is_state,
            "mês": self.month(row) is not None,
            "dia da compra": row in self.dias,
            "pagamento": fold(row) in self.pagamentos,
        }
        return kind if kind in self.linhas and known.get(kind, True) else OTHER

    def forms(self, kind: str, row: str) -> Words:
        """Return the forms of a row's name: in it, of it, towards it, and as a subject where it has one."""
        month, _, year = row.partition("/")
        templates, state = self.linhas[self.kind_of(kind, row)], self.plain_name(row)
        article = next((_ARTICLES[key] for key, names in self.artigos.items() if state in names), ("", "", ""))
        words = dict(zip(("no", "do", "art"), article, strict=True)) | {"nome": row, "mes": f"{month} de {year}"}
        words |= dict(zip(("dia_em", "dia_de"), self.dias.get(row, ("", "")), strict=True))
        own = {key: " ".join(text.format(**words).split()) for key, text in templates.model_dump().items() if text}
        return own | {"nome": row}

    def plain_name(self, row: str) -> str:
        """Return the state that a name or code is of, and any other name in small letters without accents."""
        return self._states.get(fold(row), fold(row))

    @cached_property
    def _states(self) -> Words:
        return {fold(written): name for code, name in self.siglas.items() for written in (code, name)}

    def is_sum(self, kind: str, row: str) -> bool:
        """Return whether a row sums up others, such as `Total 2018`, and a region beside states."""
        return any(re.fullmatch(self.somas[key], fold(row)) for key in ("todas", kind) if key in self.somas)

    def is_rest(self, row: str) -> bool:
        """Return whether a row is what others leave, or has no name, such as `Demais estados` and `null`."""
        return re.fullmatch(self.restos, fold(row)) is not None

    def month(self, row: str) -> int | None:
        """Return the place of a row's month in the count of all months; None where it is no month of a year."""
        name, _, year = row.partition("/")
        return 12 * int(year) + self.meses.index(name) if name in self.meses and _YEAR.fullmatch(year) else None


@cache
def read_phrases() -> EvidencePhrases:
    """Read the phrases."""
    return EvidencePhrases.model_validate(read_data("evidence/frames.toml") | read_data("evidence/actions.toml"))
