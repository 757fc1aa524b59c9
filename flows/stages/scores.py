"""Scores of an audit: those of a sheet that was named, the shipped ones, or those of people who are waited for.

People score a reward as it is: where the reward of a task changes, they are asked for that task again, on a new sheet
that has the other tasks' scores already.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from flows.runtime.console import say
from flows.runtime.human_gate import wait_for_scores
from flows.runtime.stores import open_store
from flows.stages.audit_sheet import sheet
from flows.stages.runner import StageResult, begin_work
from schemas.artifact import ArtifactRecord
from schemas.config.config import Config
from schemas.tasks import SPEC_NAMES, TASK_NAMES, SpecName, TaskName
from tasks.audit.sheet import Row, is_scored, read_rows, write_rows
from tasks.audit.stage import SHEET_FILE, STORE_FOLDER, AuditFiles, files_of, shipped_files
from tasks.commerce.past_versions import as_it_is_now, versions_of
from tasks.commerce.registry import joint_version, reward_version, reward_versions
from tasks.lineage.store.artifacts import ArtifactDamaged

DRAWN_FROM_FILE: Final = "drawn_from.txt"
"""Beside a sheet that people score: the sha256 of each artifact that its rows are a copy of, a line each."""
VERSIONS_FILE: Final = "reward_versions.json"
"""Beside it: the version of each task's reward; an older sheet has one for all of them, in its folder's name."""
STORE_OF: Final = "sql_qa"
"""The task whose queries are run on the store beside a sheet."""


def scoring_folder(config: Config) -> Path:
    """Return where a sheet of these rewards is put for people: what they said of a version is asked once."""
    return _sheets(config) / f"{config.rewards.spec}-{joint_version(config.rewards.spec)[:16]}"


def known_scores(config: Config) -> AuditFiles | None:
    """Return the scored sheet of these rewards; None where people have not scored all of one yet.

    Raises:
        InputError: The sheet that people were given cannot be read any more.
    """
    if config.audit.sheet and config.audit.rollouts:
        store = config.audit.store or config.audit.rollouts.parent / STORE_FOLDER
        return AuditFiles(config.audit.sheet, config.audit.rollouts, store)
    if not config.audit.require_human:
        return shipped_files()
    folder = _folder_of_these_rewards(config)
    return None if folder is None or _unscored(files_of(folder)) else files_of(folder)


def people_scores(
    config: Config, pipeline_run: str, prompts: StageResult, dataset: StageResult, base: StageResult
) -> AuditFiles:
    """Give people a sheet, unless they have one, and return it once it is fully scored.

    Raises:
        Interrupted: Waiting is impossible here; the same command resumes once the sheet is scored.
    """
    begin_work("sheet")
    folder = _folder_of_these_rewards(config)
    if folder is None:
        folder, kept = scoring_folder(config), _sheets_before(config)
        asked = tuple(
            task for task in TASK_NAMES if task not in kept and (not kept or config.synthesize.counts.get(task))
        )
        drawn = sheet(config, pipeline_run, prompts, dataset, base, asked) if asked else None
        if kept:
            new = f"new ones of {', '.join(asked)}" if asked else "nothing new"
            say(f"audit: {folder} has the rows of {', '.join(kept)} from before, whose rewards are the same, and {new}")
        _publish(drawn, kept, folder)
    files = files_of(folder)
    if unscored := _unscored(files):
        wait_for_scores(files.sheet, unscored, config.audit.days_to_score)
    return files


def drawn_sheets(config: Config, files: AuditFiles) -> dict[str, ArtifactRecord]:
    """Return the artifacts that a sheet was drawn from; none where no run drew it, or they are gone."""
    drawn: dict[str, ArtifactRecord] = {}
    for sha256 in _drawn_from(files.sheet.parent):
        try:
            drawn[f"sheet-{len(drawn) + 1}" if drawn else "sheet"] = open_store(config).record(sha256)
        except ArtifactDamaged:
            continue
    return drawn


def _unscored(files: AuditFiles) -> int:
    return sum(not is_scored(row) for row in read_rows(files.sheet))


def _sheets(config: Config) -> Path:
    return config.state.root.resolve() / "scores"


def _folder_of_these_rewards(config: Config) -> Path | None:
    """Return the newest folder whose sheet is of these rewards alone; None where there is none."""
    exact = scoring_folder(config)
    if exact.exists():
        return exact
    for folder in _folders(config):
        same = _still_same(folder)
        if same and same == _on_sheet(folder):
            return folder
    return None


def _sheets_before(config: Config) -> dict[TaskName, Path]:
    """Return by task the newest folder with rows of its present reward, for the tasks that have one."""
    found: dict[TaskName, Path] = {}
    for folder in _folders(config):
        for task in _still_same(folder):
            found.setdefault(task, folder)
    return {task: found[task] for task in TASK_NAMES if task in found}


def _folders(config: Config) -> list[Path]:
    """Return the folders with sheets of the same specification, the newest first."""
    folders = [file.parent for file in _sheets(config).glob(f"{config.rewards.spec}-*/{SHEET_FILE}")]
    return sorted(folders, key=lambda folder: (folder.stat().st_mtime_ns, folder.name), reverse=True)


def _still_same(folder: Path) -> set[TaskName]:
    """Return the tasks of a folder's sheet whose rewards are still those that it was drawn for."""
    file = folder / VERSIONS_FILE
    drawn_for: Mapping[TaskName, str]
    if file.exists():
        drawn_for = {
            task: as_it_is_now(version) for task, version in json.loads(file.read_text(encoding="utf-8")).items()
        }
    else:
        drawn_for = versions_of(folder.name.rpartition("-")[2])
    same = {task for task in TASK_NAMES if drawn_for.get(task) == reward_version(task, _spec_of(folder))}
    # A sheet that is of no use any more may be unreadable.
    return same & _on_sheet(folder) if same else same


def _spec_of(folder: Path) -> SpecName:
    """Return the specification of a sheet's folder, whose name begins with it."""
    return next(spec for spec in SPEC_NAMES if folder.name.startswith(f"{spec}-"))


def _on_sheet(folder: Path) -> set[TaskName]:
    tasks = {row["task"] for row in read_rows(files_of(folder).sheet)}
    return {task for task in TASK_NAMES if task in tasks}


def _drawn_from(folder: Path) -> list[str]:
    try:
        return (folder / DRAWN_FROM_FILE).read_text(encoding="utf-8").split()
    except FileNotFoundError:
        return []


def _publish(drawn: StageResult | None, kept: Mapping[TaskName, Path], folder: Path) -> None:
    """Put a sheet with all that its audit needs to where it may be written, by one rename.

    Args:
        drawn: The sheet of the tasks that people are asked for; None where there are none.
        kept: The folders that the rows of the other tasks come from, with the scores that they have.
        folder: Where people score.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = folder.with_name(f".{folder.name}.draft")
    # Of a run that was killed here: one at a time works in a state folder.
    shutil.rmtree(draft, ignore_errors=True)
    sources = list(dict.fromkeys(kept.values()))
    _copy(drawn.path if drawn else sources[0], draft)
    _write_rows(drawn, kept, draft)
    if STORE_OF in kept:
        shutil.rmtree(files_of(draft).store)
        _copy(files_of(kept[STORE_OF]).store, files_of(draft).store)
    versions = reward_versions(_on_sheet(draft), _spec_of(folder))
    (draft / VERSIONS_FILE).write_text(json.dumps(versions, indent=1) + "\n", encoding="utf-8")
    drawn_from = [
        *([drawn.record.sha256] if drawn else []),
        *(each for source in sources for each in _drawn_from(source)),
    ]
    (draft / DRAWN_FROM_FILE).write_text("\n".join(dict.fromkeys(drawn_from)) + "\n", encoding="utf-8")
    draft.replace(folder)


def _write_rows(drawn: StageResult | None, kept: Mapping[TaskName, Path], draft: Path) -> None:
    """Write the sheet and its rollouts: of each task those of the folder that its rows come from."""
    rows: list[Row] = []
    rollouts: list[bytes] = []
    for task in TASK_NAMES:
        source = kept.get(task, drawn.path if drawn else None)
        if source is not None:
            files = files_of(source)
            rows += [row for row in read_rows(files.sheet) if row["task"] == task]
            rollouts += [line for line in files.rollouts.read_bytes().splitlines() if json.loads(line)["task"] == task]
    files = files_of(draft)
    write_rows(files.sheet, rows)
    files.rollouts.write_bytes(b"".join(line + b"\n" for line in rollouts))


def _copy(folder: Path, to: Path) -> None:
    # Not the permissions: an artifact is read-only.
    shutil.copytree(folder, to, copy_function=shutil.copyfile)
