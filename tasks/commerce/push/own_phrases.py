"""A shop's own openers of pushes, beside the shipped ones; an environment variable names their file to all processes.

The file is data as the shipped phrases are: the ground truth reads it by its own code, and its content is in the keys.
"""

import hashlib
import os
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.errors import InputError
from schemas.faults import first_fault

VARIABLE: Final = "TUCANO_PHRASES"
SHIPPED: Final = Path(__file__).resolve().parents[3] / "data" / "evidence" / "push.toml"
LONGEST: Final = 32
"""Most characters of an opener: the product and the offer need the others."""
_CAPITAL: Final = "A-ZÀ-ÃÇÉÊÍÓ-ÕÚÜ"
LETTER: Final = f"[{_CAPITAL}{_CAPITAL.lower()}]"
"""A letter of Portuguese."""
FORM: Final = rf"^[{_CAPITAL}]{LETTER}*(?:[ -]{LETTER}+)*[.!?]$"
"""Words of Portuguese letters from a capital to the end of a sentence."""


class OwnOpener(BaseModel):
    """One opener, its group of products, and who approved it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    grupo: str
    texto: str = Field(pattern=FORM, max_length=LONGEST)
    por: str = Field(min_length=1)


class OwnPhrases(BaseModel):
    """All of a shop's file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    aberturas: tuple[OwnOpener, ...]


def use_own(file: Path | None) -> None:
    """Take a shop's phrases into account in this process, and in each that it starts from now on; None for none.

    Raises:
        InputError: The file cannot be read, or an opener of it cannot be used.
    """
    os.environ.pop(VARIABLE, None)
    if file is not None:
        os.environ[VARIABLE] = str(file.absolute())
        with_own(tomllib.loads(SHIPPED.read_text(encoding="utf-8")))


def with_own(shipped: dict[str, Any]) -> dict[str, Any]:
    """Return the shipped phrases with the shop's own behind the openers of their groups.

    Raises:
        InputError: The shop's file cannot be read, or an opener of it cannot be used.
    """
    file = Path(os.environ.get(VARIABLE, ""))
    try:
        text = _content(file).decode() if VARIABLE in os.environ else "aberturas = []"
        openers = OwnPhrases.model_validate(tomllib.loads(text)).aberturas
    except ValidationError as error:
        raise InputError(f"the phrases of {file} are broken: {first_fault(error)}; correct the file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"the phrases of {file} cannot be read ({reason}); correct rewards.phrases") from None
    for each in openers:
        if each.grupo not in shipped["grupos"]:
            known = ", ".join(shipped["grupos"])
            raise InputError(f"{file} has an opener of the group {each.grupo!r}; there are: {known}")
        shipped["grupos"][each.grupo]["aberturas"].append(each.texto)
    return shipped


@cache
def _content(file: Path) -> bytes:
    return file.read_bytes()


def require_own(sources: Mapping[str, str], what: str) -> None:
    """Refuse to answer with what was made with phrases that are gone; the file may have grown at its end since.

    Args:
        sources: Digests of the code and the data that it was made with (`schemas.source.source_files`).
        what: Its name in the sentence.

    Raises:
        InputError: Its phrases are not the beginning of those in use.
    """
    wanted = sources.get(f"${VARIABLE}")
    seen, digest = set(), hashlib.sha256()
    for line in _content(Path(os.environ[VARIABLE])).split(b"\n") if VARIABLE in os.environ else ():
        for part in (line, b"\n"):
            digest.update(part)
            seen.add(digest.hexdigest())
    if wanted is not None and wanted not in seen:
        raise InputError(
            f"{what} was made with own phrases (sha256 {wanted[:12]}) with which the file of rewards.phrases does not "
            "begin; set it to theirs, which may have grown at its end, or retrain"
        )
