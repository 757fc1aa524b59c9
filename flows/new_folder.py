"""A command's output folder: there as a whole, or not at all."""

import shutil
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from schemas.errors import InputError, Interrupted


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give an empty folder to fill, which becomes the named one by one rename; a block that fails leaves nothing.

    Args:
        path: A folder that does not exist yet or is empty.

    Raises:
        InputError: There is something else at the path, or it cannot be written.
        Interrupted: Ctrl-C or SIGTERM ended the block.
    """
    goal = path.resolve()
    missing = [folder for folder in goal.parents if not folder.exists()]
    draft = goal.parent / f".{goal.name}-{uuid.uuid4().hex[:8]}"
    try:
        if goal.exists() and (not goal.is_dir() or any(goal.iterdir())):
            raise InputError(f"{path} exists and is no empty folder; give a new one, or move it away")
        draft.mkdir(parents=True)
    except OSError as error:
        _remove(draft, missing)
        raise InputError(f"{path} cannot be written ({error.strerror}); give a folder that you may write") from None
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield draft
        draft.replace(goal)
    except KeyboardInterrupt:
        _remove(draft, missing)
        raise Interrupted(f"interrupted, and nothing is in {path}; run the same command again") from None
    except BaseException:
        _remove(draft, missing)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _remove(draft: Path, made_on_the_way: list[Path]) -> None:
    shutil.rmtree(draft, ignore_errors=True)
    for folder in made_on_the_way:
        # Someone else may have put something there in the meantime.
        with suppress(OSError):
            folder.rmdir()
