"""Command `tucano init`: a profile and a column map for one's own files."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import typer

from flows.cli.options import UNDONE, Json, emit
from flows.cli.tables.init import print_files, print_tasks
from flows.runtime.console import show, stage_progress
from flows.runtime.own_files import refusal_of
from flows.runtime.signals import interruptible
from schemas.config.profiles import load_config
from schemas.errors import InputError
from schemas.shown_text import as_shown
from tasks.synthesize.columns.document import column_map_text
from tasks.synthesize.columns.look import find_files, look_at
from tasks.synthesize.columns.profile import plan, profile_text
from tasks.synthesize.columns.recognize import Recognized, recognize
from tasks.synthesize.columns.undecided import undecided

COLUMN_MAP: Final = "columns.toml"
PROFILE: Final = "shop.toml"
_NOTHING_YET: Final = "no task can be trained yet: confirm what is right in both, or give more files"


def init(
    files: Annotated[
        list[Path],
        typer.Argument(help="Files of CSV, JSON Lines or Parquet, or folders of them.", metavar="FILE_OR_FOLDER..."),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write the column map and the profile into.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier column map and profile.")] = False,
    as_json: Json = False,
) -> None:
    """Look at your own files, and write the column map and the profile that train on them."""
    _refuse_to_overwrite(out, force=force)
    with interruptible(UNDONE), stage_progress("init") as progress:
        found = find_files(files)
        looked = []
        for done, file in enumerate(found):
            progress(done, len(found), f"looking at {file.name}")
            looked.append(look_at(file))
        recognized = recognize(looked)
        local = load_config("local")
        planned, confirmed = plan(recognized, local), plan(recognized.confirmed, local)
        column_map, profile = out / COLUMN_MAP, out / PROFILE
        _write(column_map, column_map_text(recognized, out))
        _write(profile, profile_text(planned, confirmed, column_map))
        progress(len(found), len(found), "reading all rows as a run will")
        refusal = _refusal(recognized, out)
    print_files(recognized)
    print_tasks(planned)
    show(f"column map: {column_map}; read it, and remove the `#` of what you confirm")
    show(f"profile: {profile}")
    waiting = " and ".join(_waiting(recognized))
    if waiting:
        show(f"a run refuses the files until you confirm {waiting} in {column_map}")
    if refusal is not None:
        too = f", and {waiting} are confirmed" if waiting else ""
        raise InputError(f"{refusal}; once it is corrected{too}: tucano retrain --profile {profile}")
    then = f"once {waiting} are confirmed" if waiting else "then"
    show(f"{then}: tucano retrain --profile {profile}" if planned.trained else _NOTHING_YET)
    emit(
        {
            "column_map": str(column_map),
            "profile": str(profile),
            "tasks": {
                each.task: {"rows": each.rows, "count": each.count, "missing": each.missing} for each in planned.tasks
            },
        },
        as_json=as_json,
    )


def _waiting(recognized: Recognized) -> list[str]:
    """Return what a person must confirm before a run: tables of orders, cells with two meanings, and statuses."""
    orders = ["the columns of table orders"] if _lack_orders(recognized) else []
    open_cells = any(True for section in recognized.sections for _ in undecided(section))
    statuses = {
        each.theirs for section in recognized.sections if section.is_sure for each in section.choices if each.waits
    }
    return [
        *orders,
        *["dates and decimals"] * open_cells,
        *(as_shown(f"the values of {name}") for name in sorted(statuses)),
    ]


def _lack_orders(recognized: Recognized) -> bool:
    tables = {section.name: section.is_sure for section in recognized.sections if section.is_table}
    return not tables.get("orders", True) and any(tables.values())


def _refusal(recognized: Recognized, out: Path) -> str | None:
    """Return why a run would refuse the files, once what waits is confirmed; None if not, or if orders wait."""
    if _lack_orders(recognized) or not any(section.is_sure for section in recognized.sections):
        return None
    assumed = out / f".{os.getpid()}.{COLUMN_MAP}"
    _write(assumed, column_map_text(recognized, out, confirmed=True))
    try:
        return refusal_of(assumed)
    finally:
        assumed.unlink()


def _refuse_to_overwrite(out: Path, *, force: bool) -> None:
    there = [out / name for name in (COLUMN_MAP, PROFILE) if (out / name).exists()]
    if there and not force:
        raise InputError(
            f"{' and '.join(map(str, there))} exists, and may have been corrected by hand; move it away, give another "
            "folder by --out, or replace it by --force"
        )


def _write(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        # Where its folder could not be made there is no draft, and above a file even looking for it fails.
        with suppress(OSError):
            draft.unlink()
        raise InputError(f"{path} cannot be written ({error.strerror}); give a folder that you may write") from None
