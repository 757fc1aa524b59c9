"""Flows `audit` and `sheet`: compare rewards with people's scores, and open or close the gate before training.

The scores are those of a sheet that was named, the shipped ones, or people's, who are waited for. People score a reward
as it is: where the reward of a task changes, they are asked for that task again, on a new sheet that has the other
tasks' scores already.
"""

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from flows.runtime.console import say
from flows.runtime.runs import linked_to_mlflow, show_markdown, stage_flow, wait_for_scores
from flows.runtime.session import open_store
from flows.stages.remote import placed
from flows.stages.runner import Session, Stage, StageResult, begin_work, config_digest, run_stage
from schemas.artifact import ArtifactRecord, Origin
from schemas.config.config import Config
from schemas.documents import read_audit_record
from schemas.errors import GateRefused, InputError, Interrupted
from schemas.faults import first_few
from schemas.progress import Progress
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.audit import stage as audit_stage
from tasks.audit.past_versions import as_it_is_now, versions_of
from tasks.audit.report import REPORT_PAGE
from tasks.audit.rollouts import RolloutRequest
from tasks.audit.sampling import make_sheet
from tasks.audit.sheet import Row, is_scored, read_rows, write_rows
from tasks.audit.stage import REPORT_FILE, SHEET_FILE, STORE_FOLDER, AuditFiles, files_of, shipped_files
from tasks.commerce.registry import joint_version, reward_version, reward_versions
from tasks.lineage.mlflow.recorder import StageRun
from tasks.lineage.store.artifacts import ArtifactDamaged, file_digests
from tasks.report.wording import spoken

DRAWN_FROM_FILE: Final = "drawn_from.txt"
"""Beside a sheet that people score: the sha256 of each artifact that its rows are a copy of, a line each."""
VERSIONS_FILE: Final = "reward_versions.json"
"""Beside it: the version of each task's reward; an older sheet has one for all of them, in its folder's name."""
STORE_OF: Final = "sql_qa"
"""The task whose queries are run on the store beside a sheet."""


@stage_flow("audit")
def audit(session: Session, files: AuditFiles) -> StageResult:
    """Audit the rewards; where this version was audited on this sheet before, that audit stands."""
    config = session.config
    tasks = tuple(task for task in TASK_NAMES if config.synthesize.counts.get(task))
    sheet, rollouts = (file_digests([file]) for file in (files.sheet, files.rollouts))
    store = file_digests(sorted(files.store.glob("*.csv")))
    settings = (config.audit.thresholds(), config.audit.raters, config.language, config.rewards.spec)

    @spoken(config.language)
    def work(output: Path, progress: Progress, _: StageRun) -> None:
        audit_stage.run(files, config.audit, config.rewards.spec, output, progress, tasks)
        if read_audit_record(output).sheet_sha256 not in sheet.values():
            raise Interrupted(f"the sheet {files.sheet} was changed while the run read it; run the same command again")

    stage = Stage(
        name="audit",
        kind="audit",
        sources=("tasks.audit.stage",),
        config_digest=config_digest(*settings, sheet, rollouts, store, *([] if tasks == TASK_NAMES else [tasks])),
        inputs={},
        work=work,
        order_only_inputs=drawn_sheets(config, files),
        summary=_figures,
        reports=(REPORT_PAGE, REPORT_FILE),
    )
    result = run_stage(stage, session)
    record = read_audit_record(result.path)
    opening = "Training may start." if record.verdict == "passed" else "**Training may not start.**"
    found = [f"{task}: {found.verdict}, {found.n} scores" for task, found in record.tasks.items()]
    text = "\n".join([opening, "", *(f"- {line}" for line in (*record.reasons, *found))])
    text = linked_to_mlflow(text, result.record, config)
    show_markdown(key="audit-gate", markdown=text, description="May training start?")
    if unaudited := sorted(task for task in tasks if task not in record.tasks):
        raise GateRefused(
            f"the audit sheet {files.sheet} has no scores of {', '.join(unaudited)}; score these tasks too (if a run "
            "drew the sheet, move its folder away, and the next run draws one of all tasks), or train without them "
            "with --set synthesize.counts.TASK=0"
        )
    if record.verdict != "passed":
        raise GateRefused(f"the reward audit says no: {first_few(record.reasons)}; see {result.path / REPORT_PAGE}")
    return result


def _figures(folder: Path) -> Mapping[str, Any]:
    record = read_audit_record(folder)
    return {"gate": record.verdict, **{f"rho {task}": found.rho for task, found in record.tasks.items()}}


def known_scores(config: Config) -> AuditFiles | None:
    """Return the scored sheet of these rewards; None where people have not scored all of one yet."""
    if config.audit.sheet and config.audit.rollouts:
        store = config.audit.store or config.audit.rollouts.parent / STORE_FOLDER
        return AuditFiles(config.audit.sheet, config.audit.rollouts, store)
    if not config.audit.require_human:
        return shipped_files()
    files = files_of(scoring_folder(config))
    return files if files.sheet.exists() and not _unscored(files) else None


def people_scores(session: Session, prompts: StageResult, dataset: StageResult, base: StageResult) -> AuditFiles:
    """Give people a sheet, unless they have one, and return it once it is fully scored."""
    begin_work("sheet")
    config, folder = session.config, scoring_folder(session.config)
    if not folder.exists():
        kept = _sheets_before(config)
        asked = tuple(task for task in TASK_NAMES if task not in kept and config.synthesize.counts.get(task))
        drawn = sheet(session, prompts, dataset, base, asked) if asked else None
        if kept:
            new = f"new ones of {', '.join(asked)}" if asked else "nothing new"
            say(f"audit: {folder} has {', '.join(kept)}, kept from an earlier audit (same reward version), and {new}")
        _publish(drawn, kept, folder, config.rewards.spec)
    files = files_of(folder)
    if unscored := _unscored(files):
        wait_for_scores(files.sheet, unscored, config.audit.days_to_score)
    return files


@stage_flow("sheet")
def sheet(
    session: Session, prompts: StageResult, dataset: StageResult, base: StageResult, tasks: tuple[TaskName, ...]
) -> StageResult:
    """Make a sheet of the base policy's completions of some tasks; never afresh, for somebody may be scoring it."""
    session = replace(session, fresh=None)
    config = session.config

    drawn: dict[str, Any] = {
        "seed": config.seed,
        "tasks": tasks,
        "completions_per_prompt": config.audit.completions_per_prompt,
        "load_in_4bit": config.train.load_in_4bit,
        "max_tokens": config.train.max_completion_tokens,
        "batch_size": config.evaluate.batch_size,
    }

    def work(output: Path, progress: Progress, _: StageRun) -> Origin:
        files = files_of(output)
        _copy(prompts.path / "store", files.store)
        where: dict[str, Any] = {"base": base.path, "dataset": dataset.path, "output": files.rollouts}
        request = RolloutRequest(**drawn, **where, prompts_per_task=config.audit.prompts_per_task)
        origin = session.run_child(stage, request, session.folder("sheet"), progress)
        most, needed = config.audit.scores_per_task, config.audit.min_scores_per_task
        sample = make_sheet(files.rollouts, config.rewards.spec, files.store, most, config.seed, files.sheet, progress)
        if few := [f"{count} of {task}" for task, count in sample.drawn.items() if count < needed]:
            raise InputError(
                f"the base policy gave too few different completions for a sheet: {', '.join(few)}, and {needed} are "
                "needed; ask for more of each prompt with --set audit.completions_per_prompt=N"
            )
        return origin

    def rows_to_score(folder: Path) -> Mapping[str, Any]:
        of = [row["task"] for row in read_rows(files_of(folder).sheet)]
        return {f"to score: {task}": of.count(task) for task in sorted(set(of))}

    stage = Stage(
        name="sheet",
        kind="sheet",
        sources=("tasks.audit.rollouts", "tasks.audit.sampling"),
        config_digest=config_digest(config.rewards.spec, config.audit.scores_per_task, drawn),
        inputs={"prompts": prompts.record, "dataset": dataset.record, "base": base.record},
        work=work,
        summary=rows_to_score,
        reports=("sheet.csv",),
    )
    return run_stage(placed(stage, session, "sheet", stage.inputs, tasks=list(tasks)), session)


def drawn_sheets(config: Config, files: AuditFiles) -> dict[str, ArtifactRecord]:
    """Return the artifacts that a sheet was drawn from; none where no run drew it, or they are gone."""
    drawn: dict[str, ArtifactRecord] = {}
    for sha256 in _drawn_from(files.sheet.parent):
        with suppress(ArtifactDamaged):
            drawn[f"sheet-{len(drawn) + 1}" if drawn else "sheet"] = open_store(config).record(sha256)
    return drawn


def scoring_folder(config: Config) -> Path:
    """Return where a sheet of these rewards is put for people: what they said of a version is asked once."""
    return config.state.root.resolve() / "scores" / f"{config.rewards.spec}-{joint_version(config.rewards.spec)[:16]}"


def _unscored(files: AuditFiles) -> int:
    return sum(not is_scored(row) for row in read_rows(files.sheet))


def _sheets_before(config: Config) -> dict[TaskName, Path]:
    """Return by task the newest folder with rows of its present reward, for the tasks that have one."""
    spec, found = config.rewards.spec, dict[TaskName, Path]()
    folders = [file.parent for file in scoring_folder(config).parent.glob(f"{spec}-*/{SHEET_FILE}")]
    for folder in sorted(folders, key=lambda folder: (folder.stat().st_mtime_ns, folder.name), reverse=True):
        drawn_for = versions_of(folder.name.rpartition("-")[2])
        if (file := folder / VERSIONS_FILE).exists():
            known = json.loads(file.read_text(encoding="utf-8"))
            drawn_for = {task: as_it_is_now(version) for task, version in known.items()}
        same = {task for task in TASK_NAMES if drawn_for.get(task) == reward_version(task, spec)}
        # A sheet that is of no use any more may be unreadable.
        for task in same & {row["task"] for row in read_rows(files_of(folder).sheet)} if same else ():
            found.setdefault(task, folder)
    return {task: found[task] for task in TASK_NAMES if task in found}


def _drawn_from(folder: Path) -> list[str]:
    file = folder / DRAWN_FROM_FILE
    return file.read_text(encoding="utf-8").split() if file.exists() else []


def _publish(drawn: StageResult | None, kept: Mapping[TaskName, Path], folder: Path, spec: SpecName) -> None:
    """Put a sheet, of each task's kept rows with their scores or else of the drawn ones, to where people score."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = folder.with_name(f".{folder.name}.draft")
    # Of a run that was killed here: one at a time works in a state folder.
    shutil.rmtree(draft, ignore_errors=True)
    files, rows, rollouts = files_of(draft), list[Row](), list[bytes]()
    source_of = {task: kept.get(task, drawn.path if drawn else None) for task in TASK_NAMES}
    sources = {task: files_of(source) for task, source in source_of.items() if source is not None}
    _copy((sources.get(STORE_OF) or next(iter(sources.values()))).store, files.store)
    for task, of in sources.items():
        rows += [row for row in read_rows(of.sheet) if row["task"] == task]
        rollouts += [line for line in of.rollouts.read_bytes().splitlines() if json.loads(line)["task"] == task]
    write_rows(files.sheet, rows)
    files.rollouts.write_bytes(b"".join(line + b"\n" for line in rollouts))
    versions = reward_versions([task for task in TASK_NAMES if any(row["task"] == task for row in rows)], spec)
    (draft / VERSIONS_FILE).write_text(json.dumps(versions, indent=1) + "\n", encoding="utf-8")
    artifacts = [drawn.record.sha256] if drawn else []
    artifacts += [each for source in kept.values() for each in _drawn_from(source)]
    (draft / DRAWN_FROM_FILE).write_text("\n".join(dict.fromkeys(artifacts)) + "\n", encoding="utf-8")
    draft.replace(folder)


def _copy(folder: Path, to: Path) -> None:
    # Not the permissions: an artifact is read-only.
    shutil.copytree(folder, to, copy_function=shutil.copyfile)
