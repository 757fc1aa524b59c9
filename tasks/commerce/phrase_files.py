"""Files of phrases: what their data is made of, and one sentence for one that is broken."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from schemas.errors import InputError
from schemas.faults import first_fault


class PhraseData(BaseModel):
    """Part of a file of phrases; a key that nothing reads is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@contextmanager
def read_whole(path: Path, remedy: str = "correct the file") -> Iterator[None]:
    """Refuse a file, or a folder of files, that the block cannot read.

    Args:
        path: The file or folder.
        remedy: The end of the sentence on one that cannot be read.

    Raises:
        InputError: It is no TOML, lacks something, or the block found a fault in it (`ValueError`).
    """
    try:
        yield
    except ValidationError as error:
        raise InputError(f"the phrases of {path} are broken: {first_fault(error)}; correct the file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"the phrases of {path} cannot be read ({reason}); {remedy}") from None
