"""Where the scores of an audit come from: a sheet that was named, the shipped one, or people who are waited for."""

import shutil
import uuid
from pathlib import Path

from flows.human_gate import wait_for_scores
from flows.sheet import sheet
from flows.stage import StageResult, open_store
from schemas.artifact import ArtifactRecord
from schemas.config import Config
from tasks.audit.sheet import is_scored, read_rows
from tasks.audit.stage import STORE_FOLDER, AuditFiles, files_of, shipped_files
from tasks.commerce.registry import reward_version
from tasks.lineage.artifacts import ArtifactDamaged

DRAWN_FROM_FILE = "drawn_from.txt"
"""Beside a sheet that people score: the sha256 of the artifact that it is a copy of."""


def scoring_folder(config: Config) -> Path:
    """Return where the sheet of these rewards is scored: what people said of one reward version is asked once."""
    return config.state.root.resolve() / "scores" / f"{config.rewards.spec}-{reward_version()[:16]}"


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
    files = files_of(scoring_folder(config))
    return files if files.sheet.exists() and not _unscored(files) else None


def people_scores(
    config: Config, pipeline_run: str, prompts: StageResult, dataset: StageResult, base: StageResult
) -> AuditFiles:
    """Give people a sheet, where they have none, and return it once they have scored all of it.

    Raises:
        Interrupted: Nobody can be waited for here; the same command goes on once the sheet is scored.
    """
    folder = scoring_folder(config)
    if not folder.exists():
        drawn = sheet(config, pipeline_run, prompts, dataset, base)
        _hand_out(drawn, folder)
    files = files_of(folder)
    if unscored := _unscored(files):
        wait_for_scores(files.sheet, unscored, config.audit.days_to_score, config.state)
    return files


def _unscored(files: AuditFiles) -> int:
    return sum(not is_scored(row) for row in read_rows(files.sheet))


def drawn_sheet(config: Config, files: AuditFiles) -> ArtifactRecord | None:
    """Return the artifact that a sheet was handed out from; None where no run drew it, or its artifact is gone."""
    try:
        sha256 = (files.sheet.parent / DRAWN_FROM_FILE).read_text(encoding="utf-8").strip()
        return open_store(config).record(sha256)
    except (OSError, ArtifactDamaged):
        return None


def _hand_out(drawn: StageResult, folder: Path) -> None:
    """Copy the sheet with all that its audit needs to where it may be written, by one rename."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = folder.with_name(f".{folder.name}-{uuid.uuid4().hex[:8]}")
    # Not the permissions: an artifact is read-only.
    shutil.copytree(drawn.path, draft, copy_function=shutil.copyfile)
    (draft / DRAWN_FROM_FILE).write_text(drawn.record.sha256 + "\n", encoding="utf-8")
    draft.replace(folder)
