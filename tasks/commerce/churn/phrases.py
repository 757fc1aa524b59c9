"""Directions of a profile's values and the clauses that say them: `data/evidence/churn.toml`, refused if broken."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from schemas.errors import InputError
from tasks.commerce.phrase_files import PhraseData, read_whole

DATA_FILES: Final = ("data/evidence/churn.toml",)
FILE: Final = Path(__file__).resolve().parents[3] / DATA_FILES[0]
PLURAL: Final = re.compile(r"\{([^{}|]+)\|([^{}|]+)\}")
"""The word for 1 and the one for other numbers."""

Direction = Literal["sai", "fica"]


class Band(PhraseData):
    """Values up to a highest one, and what they say: nothing without a direction."""

    ate: float | None = None
    aponta: Direction | None = None
    peso: int = Field(default=0, ge=0)
    frases: tuple[str, ...] = ()


class ProfileField(PhraseData):
    """Line of a profile that a reason may name."""

    nome: str
    tema: str
    faixas: tuple[Band, ...] = Field(min_length=1)

    def band(self, value: float) -> Band:
        """Return the band of a value."""
        return next(band for band in self.faixas if band.ate is None or value <= band.ate)


class Conclusion(PhraseData):
    """How an answer is said, from a certainty on."""

    de: float
    sai: tuple[str, ...] = Field(min_length=1)
    fica: tuple[str, ...] = Field(min_length=1)


class Sentences(PhraseData):
    """Sentences around the clauses: `motivos` for the answer, `ressalva` against it, `contra_os_dados` for none."""

    motivos: str
    contra_os_dados: str
    ressalva: str


class ChurnPhrases(PhraseData):
    """All of the file."""

    texto: Sentences
    conclusoes: tuple[Conclusion, ...] = Field(min_length=1)
    campos: tuple[ProfileField, ...]


@cache
def read_phrases(file: Path = FILE) -> ChurnPhrases:
    """Read and check the file.

    Raises:
        InputError: It is no TOML or lacks something, a field's bands do not rise to one without an end, a band that
            points has no phrase or weight, or a text has a slot that nothing fills.
    """
    try:
        with read_whole(file):
            phrases = ChurnPhrases.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
            for field in phrases.campos:
                _check_bands(field)
            for text in phrases.texto.model_dump().values():
                text.format(conclusao="", motivos="")
    except KeyError as error:
        raise InputError(f"the phrases of {file} have the slot {error}, which nothing fills; correct it") from None
    return phrases


def _check_bands(field: ProfileField) -> None:
    *ends, last = [band.ate for band in field.faixas]
    known = [end for end in ends if end is not None]
    if last is not None or len(known) < len(ends) or known != sorted(set(known)):
        raise ValueError(f"the bands of {field.nome!r} do not rise to a last one without `ate`")
    for band in field.faixas:
        if len({band.aponta is None, band.peso == 0, not band.frases}) > 1:
            raise ValueError(f"a band of {field.nome!r} has not all of `aponta`, `peso` and `frases`, nor none")
        for phrase in band.frases:
            PLURAL.sub("", phrase).format(valor="")
