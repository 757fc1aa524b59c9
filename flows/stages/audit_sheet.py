"""Flow `sheet`, and an audit's scores: of a sheet that was named, the shipped ones, or people's, who are waited for.

People score a reward as it is: where the reward of a task changes, they are asked for that task again, on a new sheet
that has the other tasks' scores already.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from flows.runtime.console import say
from flows.runtime.human_gate import wait_for_scores
from flows.runtime.prefect_run import stage_flow
from flows.runtime.stores import open_store
from flows.stages.runner import Session, Stage, StageResult, begin_work, config_digest, run_stage
from flows.stages.stage_child import run_stage_child
from schemas.artifact import ArtifactRecord, Origin
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.tasks import SPEC_NAMES, TASK_NAMES, SpecName, TaskName
from tasks.audit.new_sheet import make_sheet
from tasks.audit.past_versions import as_it_is_now, versions_of
from tasks.audit.rollouts import RolloutRequest
from tasks.audit.sheet import Row, is_scored, read_rows, write_rows
from tasks.audit.stage import SHEET_FILE, STORE_FOLDER, AuditFiles, files_of, shipped_files
from tasks.commerce.registry import joint_version, reward_version, reward_versions
from tasks.lineage.mlflow.recorder import StageRun
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
    """Return the scored sheet of these rewards; None where people have not scored all of one yet."""
    if config.audit.sheet and config.audit.rollouts:
        store = config.audit.store or config.audit.rollouts.parent / STORE_FOLDER
        return AuditFiles(config.audit.sheet, config.audit.rollouts, store)
    if not config.audit.require_human:
        return shipped_files()
    folder = _folder_of_these_rewards(config)
    return None if folder is None or _unscored(files_of(folder)) else files_of(folder)


def people_scores(session: Session, prompts: StageResult, dataset: StageResult, base: StageResult) -> AuditFiles:
    """Give people a sheet, unless they have one, and return it once it is fully scored."""
    begin_work("sheet")
    config = session.config
    folder = _folder_of_these_rewards(config)
    if folder is None:
        folder, kept = scoring_folder(config), _sheets_before(config)
        asked = tuple(
            task for task in TASK_NAMES if task not in kept and (not kept or config.synthesize.counts.get(task))
        )
        drawn = sheet(session, prompts, dataset, base, asked) if asked else None
        if kept:
            new = f"new ones of {', '.join(asked)}" if asked else "nothing new"
            say(f"audit: {folder} has the rows of {', '.join(kept)} from before, whose rewards are the same, and {new}")
        _publish(drawn, kept, folder)
    files = files_of(folder)
    if unscored := _unscored(files):
        wait_for_scores(files.sheet, unscored, config.audit.days_to_score)
    return files


@stage_flow("sheet")
def sheet(
    session: Session,
    prompts: StageResult,
    dataset: StageResult,
    base: StageResult,
    tasks: tuple[TaskName, ...] = TASK_NAMES,
) -> StageResult:
    """Make a sheet of the base policy's completions of some tasks; never afresh, for somebody may be scoring it."""
    session = replace(session, fresh=None)
    config = session.config

    def work(output: Path, progress: Progress, _: StageRun) -> Origin:
        files = files_of(output)
        shutil.copytree(prompts.path / "store", files.store, copy_function=shutil.copyfile)
        request = RolloutRequest(
            base=base.path,
            load_in_4bit=config.train.load_in_4bit,
            dataset=dataset.path,
            tasks=tasks,
            prompts_per_task=config.audit.prompts_per_task,
            completions_per_prompt=config.audit.completions_per_prompt,
            max_tokens=config.train.max_completion_tokens,
            batch_size=config.evaluate.batch_size,
            seed=config.seed,
            output=files.rollouts,
        )
        origin = run_stage_child(
            session,
            stage,
            "tasks.audit.rollouts",
            request,
            session.folder("sheet"),
            reads=[base.record, dataset.record],
            output=output,
            progress=progress,
        )
        sample = make_sheet(
            files.rollouts,
            config.rewards.spec,
            files.store,
            config.audit.scores_per_task,
            config.seed,
            files.sheet,
            progress,
        )
        needed = config.audit.min_scores_per_task
        few = [f"{count} of {task}" for task, count in sample.drawn.items() if count < needed]
        if few:
            raise InputError(
                f"the base policy gave too few different completions for a sheet: {', '.join(few)}, and {needed} are "
                "needed; ask for more of each prompt with --set audit.completions_per_prompt=N"
            )
        return origin

    stage = Stage(
        name="sheet",
        kind="sheet",
        sources=("tasks.audit.rollouts", "tasks.audit.new_sheet"),
        config_digest=config_digest(
            config.seed,
            config.rewards.spec,
            tasks,
            config.audit.scores_per_task,
            config.audit.completions_per_prompt,
            config.train.load_in_4bit,
            config.train.max_completion_tokens,
            config.evaluate.batch_size,
        ),
        inputs={"prompts": prompts.record, "dataset": dataset.record, "base": base.record},
        work=work,
        summary=_rows_to_score,
        reports=("sheet.csv",),
    )
    return run_stage(stage, session)


def _rows_to_score(folder: Path) -> Mapping[str, Any]:
    tasks = [row["task"] for row in read_rows(files_of(folder).sheet)]
    return {f"to score: {task}": tasks.count(task) for task in sorted(set(tasks))}


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
    """Put a sheet with all that its audit needs to where it may be written, by one rename."""
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
