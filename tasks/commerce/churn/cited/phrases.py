"""Fields of a profile and what their values say: `data/evidence/churn.toml`, refused whole where it is broken."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.errors import InputError
from schemas.faults import first_fault

DATA_FILES: Final = ("data/evidence/churn.toml",)
FILE: Final = Path(__file__).resolve().parents[4] / DATA_FILES[0]

Direction = Literal["sai", "fica"]


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Band(_Data):
    """Values up to a highest one, and what they say: nothing without a direction."""

    ate: float | None = None
    aponta: Direction | None = None
    peso: int = Field(default=0, ge=0)


class ProfileField(_Data):
    """Line of a profile that a reason may name."""

    nome: str
    tema: str
    faixas: tuple[Band, ...] = Field(min_length=1)

    def band(self, value: float) -> Band:
        """Return the band of a value."""
        return next(band for band in self.faixas if band.ate is None or value <= band.ate)


class ChurnPhrases(_Data):
    """All of the file."""

    system: str
    campos: tuple[ProfileField, ...]


@cache
def read_phrases(file: Path = FILE) -> ChurnPhrases:
    """Read and check the file.

    Raises:
        InputError: It is no TOML, lacks something, or a field's bands do not rise to one without an end.
    """
    try:
        phrases = ChurnPhrases.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
        for field in phrases.campos:
            ends = [band.ate for band in field.faixas]
            known = [end for end in ends[:-1] if end is not None]
            if ends[-1] is not None or len(known) < len(ends) - 1 or known != sorted(set(known)):
                raise ValueError(f"the bands of {field.nome!r} do not rise to a last one without `ate`")
    except ValidationError as error:
        raise InputError(f"the phrases of {file} are broken: {first_fault(error)}; correct the file") from None
    except (OSError, ValueError) as error:
        raise InputError(f"the phrases of {file} cannot be read: {error}; correct the file") from None
    return phrases
