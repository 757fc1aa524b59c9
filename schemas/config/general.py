"""Configuration of the general instructions that are mixed into the warm start."""

from pathlib import Path
from typing import Final

from pydantic import Field, model_validator

from schemas.config.section import Section
from schemas.source import REPOSITORY

DEMONSTRATIONS_FILE: Final = REPOSITORY / "data" / "general" / "demonstrations.jsonl"
"""The shipped instructions."""


class GeneralConfig(Section):
    """General Portuguese instructions for the warm start (the Cocktail Effect)."""

    path: Path | None = None
    """JSON Lines of `{"system", "prompt", "completion"}`; the shipped ones."""
    share: float = Field(gt=0, lt=1)
    """Share of general instructions in the warm start's rows."""
    name: str = Field(default="Tucano2-Commerce general demonstrations", min_length=1, pattern=r"^[\w .:/()-]+$")
    """Name on the data card; set it for an own file."""
    licence: str = Field(default="Apache-2.0; written by this project", min_length=1)
    """Licence on the data card; set it for an own file."""

    @property
    def file(self) -> Path:
        """Return the file of instructions, the shipped one where none is set."""
        return DEMONSTRATIONS_FILE if self.path is None else self.path

    @model_validator(mode="after")
    def _a_file_of_ones_own_has_its_own_terms(self) -> "GeneralConfig":
        if self.path is not None and not {"name", "licence"} <= self.model_fields_set:
            raise ValueError(
                f"path is {self.path}, and the data card would state name and licence of the shipped instructions; "
                "set general.name and general.licence, too"
            )
        return self
