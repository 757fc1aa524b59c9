"""Command `tucano init`: a profile and a column map for one's own files."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from flows.cli.options import UNDONE, Json
from flows.cli.result import Table, show
from flows.runtime.console import stage_progress
from flows.runtime.own_files import refusal_of
from flows.runtime.signals import interruptible
from schemas.config.profiles import load_config
from schemas.disk import replace_whole
from schemas.errors import InputError
from schemas.shown_text import as_shown
from tasks.synthesize.columns.choices import ColumnChoice
from tasks.synthesize.columns.document import column_map_text
from tasks.synthesize.columns.look import find_files, look_at
from tasks.synthesize.columns.profile import plan, profile_text
from tasks.synthesize.columns.recognize import Recognized, recognize
from tasks.synthesize.columns.undecided import undecided

COLUMN_MAP: Final = "columns.toml"
PROFILE: Final = "shop.toml"


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
    column_map, profile = out / COLUMN_MAP, out / PROFILE
    there = [file for file in (column_map, profile) if file.exists()]
    if there and not force:
        raise InputError(
            f"{' and '.join(map(str, there))} exists, and may have been corrected by hand; move it away, give another "
            "folder by --out, or replace it by --force"
        )
    with interruptible(UNDONE), stage_progress("init") as progress:
        found = find_files(files)
        looked = []
        for done, file in enumerate(found):
            progress(done, len(found), f"looking at {file.name}")
            looked.append(look_at(file))
        recognized = recognize(looked)
        local = load_config("local")
        planned, confirmed = plan(recognized, local), plan(recognized.confirmed, local)
        _write(column_map, column_map_text(recognized, out))
        _write(profile, profile_text(planned, confirmed, column_map))
        progress(len(found), len(found), "reading all rows as a run will")
        refusal = _refusal(recognized, out)
    tasks = {each.task: {"rows": each.rows, "count": each.count, "missing": each.missing} for each in planned.tasks}
    waiting, retrain = " and ".join(_waiting(recognized)), f"tucano retrain --profile {profile}"
    parts = [
        *_recognized_lines(recognized),
        Table("Tasks that these files can train", tasks, "task=name rows prompts=count missing"),
        f"column map: {column_map}; read it, and remove the `#` of what you confirm",
        f"profile: {profile}",
        *([f"a run refuses the files until you confirm {waiting} in {column_map}"] if waiting else []),
    ]
    document = {"column_map": str(column_map), "profile": str(profile), "tasks": tasks}
    if refusal is not None:
        if not as_json:
            show(document, parts, as_json=False)
        too = f", and {waiting} are confirmed" if waiting else ""
        raise InputError(f"{refusal}; once it is corrected{too}: {retrain}")
    if planned.trained:
        parts.append(f"{f'once {waiting} are confirmed' if waiting else 'then'}: {retrain}")
    else:
        parts.append("no task can be trained yet: confirm what is right in both, or give more files")
    show(document, parts, as_json=as_json)


def _recognized_lines(recognized: Recognized) -> Iterator[str]:
    """Yield for each file what was recognised, what is to be confirmed, and what is left out."""
    for file in recognized.files:
        sections = [section for section in recognized.sections if section.file is file]
        yield f"{file.path}: {file.cells.height:,} rows, {file.cells.width} columns"
        for section in sections:
            kind = "table" if section.is_table else "prompts of"
            by = f", as {section.shipped} exports it" if section.shipped else ""
            sure = [as_shown(_pair(choice)) for choice in section.choices if choice.sure]
            yield f"  {kind} {section.name}{by}: {', '.join(sure) or 'nothing is sure'}"
            open_choices = ((_pair(choice), choice.why) for choice in section.choices if not choice.sure)
            for line, why in (*open_choices, *undecided(section)):
                yield as_shown(f"  - to confirm: {line}: {why}")
        if not sections:
            yield "  nothing was recognised"
        for what, columns in (
            ("not recognised", recognized.unused(file)),
            ("not read, though they may tell of canceled sales, which count", recognized.unread_statuses(file)),
            ("a person's own, and left out", recognized.personal(file)),
            ("objects, and left out", file.nested),
        ):
            if columns:
                yield as_shown(f"  {what}: {', '.join(columns)}")


def _pair(choice: ColumnChoice) -> str:
    return choice.ours if choice.ours == choice.theirs else f"{choice.ours} = {choice.theirs}"


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


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_whole(path, text.encode())
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); give a folder that you may write") from None
