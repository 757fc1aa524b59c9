"""Expected failures, each with its exit code: user errors, gate refusals and interruptions; and a full disk's."""

import errno
import re
import shutil
import tempfile
from pathlib import Path
from typing import Final


class TucanoError(Exception):
    """An expected failure, shown to the user as one sentence and never as a traceback."""

    exit_code = 1


class InputError(TucanoError):
    """Bad usage or bad input: names the thing, the value and the remedy."""

    exit_code = 2


class GateRefused(TucanoError):
    """A gate refused: the reward audit, a preflight check or the promotion gate."""

    exit_code = 3


class Interrupted(TucanoError):
    """The work stopped before its end and the same command resumes it."""

    exit_code = 4


def causes_of(error: BaseException) -> list[BaseException]:
    """Return an error and its causes, the nearest cause first."""
    found: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in found:
        found.append(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return found


BYTES_OF_A_FULL_DISK: Final = 20_000_000
_NUMBERS: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_SIGNS: Final = re.compile(r"No space left on device|Disk quota exceeded|database or disk is full")
"""Messages of libraries that raise an error of their own, without a number: polars, torch, safetensors and SQLite."""


def is_of_full_disk(error: BaseException) -> bool:
    """Return whether an error is, or was caused by, a full disk."""
    return any(
        getattr(cause, "errno", None) in _NUMBERS or _SIGNS.search(str(cause)) is not None for cause in causes_of(error)
    )


def full_disk_error(folder: Path, error: BaseException | None = None) -> InputError:
    """Return the sentence for a full disk: of the folder that was worked in, or else of a file that the error names."""
    named = [Path(name).parent for cause in causes_of(error) if (name := _file_of(cause))] if error else []
    nearest = next(path for path in (folder, *folder.parents) if path.is_dir())
    others = [path for path in (*named, Path(tempfile.gettempdir())) if path.is_dir()]
    full = next((path for path in (nearest, *others) if _free(path) < BYTES_OF_A_FULL_DISK), nearest)
    return InputError(
        f"the disk of {full} ran full ({_free(full) / 1e6:.0f} MB free now); free some space and run the same command "
        "again: what was finished is kept"
    )


def _file_of(cause: BaseException) -> str | None:
    name = cause.filename if isinstance(cause, OSError) else None
    return name if isinstance(name, str) else None


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free
