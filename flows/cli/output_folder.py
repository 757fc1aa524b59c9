"""Output folder of a command: written as a whole, or not at all."""

import glob
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from pathlib import Path

from flows.runtime.signals import interruptible
from schemas.errors import InputError

_DRAFT = re.compile(r"([1-9][0-9]{0,9})-[0-9a-f]{8}")
"""Suffix of a draft's name: the process that writes it, and a random part."""


@contextmanager
def new_folder(path: Path, replaces: AbstractSet[str] = frozenset()) -> Iterator[Path]:
    """Provide an empty folder to fill, renamed at once to the given path; a block that fails leaves nothing.

    Args:
        path: A folder that does not exist yet or is empty.
        replaces: A folder with files of only these names may be there too: what can be made again at any time, such as
            a report, is replaced.

    Raises:
        InputError: There is something else at the path, or it cannot be written.
        Interrupted: Ctrl-C or SIGTERM ended the block.
    """
    goal = path.resolve()
    draft = goal.parent / f".{goal.name}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    missing: list[Path] = []
    try:
        missing = [folder for folder in goal.parents if not folder.exists()]
        _remove_abandoned(goal)
        if goal.exists() and not (goal.is_dir() and all(file.name in replaces for file in goal.iterdir())):
            raise InputError(f"{path} exists and is no empty folder; give a new one, or move it away")
        draft.mkdir(parents=True)
    except OSError as error:
        _remove(draft, missing)
        raise InputError(f"{path} cannot be written ({error.strerror}); give a folder that you may write") from None
    try:
        with interruptible(f"interrupted, and nothing is in {path}; run the same command again"):
            yield draft
            if goal.exists():
                shutil.rmtree(goal)
            draft.replace(goal)
    except BaseException:
        _remove(draft, missing)
        raise


def _remove_abandoned(goal: Path) -> None:
    """Remove what killed commands left of the same folder: it may hold personal data that was never scrubbed."""
    for draft in goal.parent.glob(f".{glob.escape(goal.name)}-*-*"):
        ours = _DRAFT.fullmatch(draft.name.removeprefix(f".{goal.name}-"))
        if ours and not _is_alive(int(ours[1])):
            shutil.rmtree(draft, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _remove(draft: Path, made_on_the_way: list[Path]) -> None:
    shutil.rmtree(draft, ignore_errors=True)
    for folder in made_on_the_way:
        # Another process may have put something there in the meantime.
        with suppress(OSError):
            folder.rmdir()
