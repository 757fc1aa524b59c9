"""A shop's own files, opened with the key of the state folder, or looked through without one."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.config.config import SynthesizeConfig
from schemas.errors import InputError

if TYPE_CHECKING:
    from tasks.synthesize.own.opened import OwnFiles


def own_files(config: SynthesizeConfig, state: Path) -> "OwnFiles | None":
    """Return the files of `synthesize.files`; None where another source is set."""
    if config.files is None:
        return None
    from tasks.synthesize.own.identities import open_key  # noqa: PLC0415

    return _opened(config.files, partial(open_key, state))


def refusal_of(column_map: Path) -> str | None:
    """Return why a run would refuse the files of a column map, in its own sentence; None where it would not."""
    from tasks.synthesize.own.identities import KEY_BYTES  # noqa: PLC0415
    from tasks.synthesize.stage import read_all  # noqa: PLC0415

    try:
        # A key of its own, so that to look at files leaves none behind.
        read_all(_opened(column_map, partial(os.urandom, KEY_BYTES)))
    except InputError as error:
        return str(error)
    return None


def _opened(column_map: Path, key: Callable[[], bytes]) -> "OwnFiles":
    # All rewards and patterns, which most runs of this command do without.
    from tasks.commerce.registry import TASKS  # noqa: PLC0415
    from tasks.synthesize.own.opened import open_own_files  # noqa: PLC0415

    return open_own_files(column_map, key, {name: task.inputs for name, task in TASKS.items()})
