"""People score a reward once: where one task's changes, they are asked for that task, and their other scores stay."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.runtime.session import open_store
from flows.stages import audit
from flows.stages.audit import DRAWN_FROM_FILE, VERSIONS_FILE, drawn_sheets, known_scores, people_scores, scoring_folder
from flows.stages.runner import Session, StageResult
from schemas.config.config import AUDIT_FOLDER, Config
from schemas.config.profiles import load_config
from schemas.errors import Interrupted
from schemas.source import source_digest
from schemas.tables.rollout_tables import read_rollouts
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit import past_versions
from tasks.audit.sheet import is_scored, read_rows, read_scored_sheet, write_rows
from tasks.audit.stage import files_of
from tasks.commerce import registry
from tasks.commerce.registry import reward_versions
from tests.small_pipeline import PROFILE

OLD = "1c051aeffa60f613"
"""The beginning of the version of all rewards before each task had its own."""
RESULT: Any = None
"""What only a sheet that is drawn needs."""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config(str(PROFILE), [f"state.root={tmp_path}", "audit.require_human=true"])


@pytest.fixture(autouse=True)
def _waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(_: Path, unscored: int, *__: object) -> None:
        raise Interrupted(f"{unscored} wait")

    monkeypatch.setattr(audit, "wait_for_scores", wait)


@pytest.fixture
def _of_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Know each task's reward of today as what `OLD` stood for."""
    versions = "".join(f'{task} = "{version}"\n' for task, version in reward_versions().items())
    file = tmp_path / "versions.toml"
    file.write_text(f"[whole.{OLD}]\n{versions}", encoding="utf-8")
    monkeypatch.setattr(past_versions, "FILE", file)
    past_versions._read.cache_clear()
    yield
    past_versions._read.cache_clear()


@pytest.fixture
def other_push(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another reward of push."""
    monkeypatch.setattr(
        registry, "source_digest", lambda name: source_digest(name)[:: -1 if name.endswith("push.scorer") else 1]
    )
    registry.reward_version.cache_clear()
    yield
    registry.reward_version.cache_clear()


@pytest.fixture
def asked(config: Config, monkeypatch: pytest.MonkeyPatch) -> list[tuple[TaskName, ...]]:
    """What is drawn: the shipped completions, which nobody has scored; the tasks that are asked for."""
    calls: list[tuple[TaskName, ...]] = []

    def draw(*arguments: Any) -> StageResult:
        tasks: tuple[TaskName, ...] = arguments[-1]
        calls.append(tasks)
        store = open_store(config)
        with store.draft() as draft:
            files, shipped = files_of(draft), files_of(AUDIT_FOLDER)
            shutil.copytree(shipped.store, files.store)
            rows = {row["audit_id"]: row for row in read_rows(shipped.sheet) if row["task"] in tasks}
            blank = dict.fromkeys(("human_score", "rater", "rater_kind", "notes"), "")
            write_rows(files.sheet, [{**row, **blank} for row in rows.values()])
            lines = shipped.rollouts.read_text(encoding="utf-8").splitlines(keepends=True)
            files.rollouts.write_text("".join(line for line in lines if json.loads(line)["task"] in tasks), "utf-8")
            record = store.commit(draft, kind="sheet", stage="sheet", code_version="c", config_digest="d", inputs={})
        return StageResult(record, store.path(record.sha256), 0.0, reused=False)

    monkeypatch.setattr(audit, "sheet", draw)
    return calls


def score(sheet: Path) -> None:
    rows = read_rows(sheet)
    given = {"human_score": "4", "rater": "ana", "rater_kind": "human"}
    write_rows(sheet, [row if is_scored(row) else {**row, **given} for row in rows])


def old_folder(config: Config) -> Path:
    """Make the folder of a sheet that people scored before each task had a reward version."""
    folder = config.state.root / "scores" / f"grounded-{OLD}"
    shutil.copytree(AUDIT_FOLDER, folder)
    (folder / "versions.toml").unlink()
    return folder


@pytest.mark.usefixtures("_of_today")
def test_scores_that_were_given_under_a_version_of_all_rewards_are_kept(config: Config) -> None:
    before = files_of(old_folder(config))
    kept = people_scores(Session(config, "run"), RESULT, RESULT, RESULT)
    assert list(read_rows(kept.sheet)) == sorted(read_rows(before.sheet), key=lambda row: TASK_NAMES.index(row["task"]))
    assert known_scores(config) == kept == files_of(scoring_folder(config))


def test_scores_of_unknown_rewards_are_not_used_and_may_be_broken(config: Config) -> None:
    folder = old_folder(config).rename(config.state.root / "scores" / f"grounded-{'f' * 16}")
    (folder / "sheet.csv").write_text("torn", encoding="utf-8")
    assert known_scores(config) is None
    assert audit._sheets_before(config) == {}


@pytest.mark.usefixtures("_of_today", "other_push")
def test_people_are_asked_again_for_the_task_whose_reward_changed(
    config: Config, asked: list[tuple[TaskName, ...]]
) -> None:
    before = files_of(old_folder(config))
    kept = [row for row in read_rows(before.sheet) if row["task"] != "push"]
    assert known_scores(config) is None

    with pytest.raises(Interrupted, match="51 wait"):
        people_scores(Session(config, "run"), RESULT, RESULT, RESULT)

    assert asked == [("push",)]
    files = files_of(scoring_folder(config))
    rows = read_rows(files.sheet)
    assert [row for row in rows if is_scored(row)] == kept
    assert {row["task"] for row in rows if not is_scored(row)} == {"push"}
    assert json.loads((files.sheet.parent / VERSIONS_FILE).read_text(encoding="utf-8")) == reward_versions()
    assert [record.kind for record in drawn_sheets(config, files).values()] == ["sheet"]

    score(files.sheet)
    assert known_scores(config) == files == people_scores(Session(config, "run"), RESULT, RESULT, RESULT)
    sheet = read_scored_sheet(files.sheet, read_rollouts(files.rollouts))
    assert sheet.tasks == TASK_NAMES
    assert sheet.rater_kinds["ana"] == "human"
    assert before.sheet.exists()
    assert sorted(file.name for file in files.store.iterdir()) == sorted(file.name for file in before.store.iterdir())


def test_a_first_sheet_asks_for_all_tasks_and_a_reward_that_comes_back_for_none(
    config: Config, asked: list[tuple[TaskName, ...]], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Interrupted, match="wait"):
        people_scores(Session(config, "run"), RESULT, RESULT, RESULT)
    first = scoring_folder(config)
    score(files_of(first).sheet)
    request.getfixturevalue("other_push")
    with pytest.raises(Interrupted):
        people_scores(Session(config, "run"), RESULT, RESULT, RESULT)
    assert asked == [TASK_NAMES, ("push",)]
    # The sheet that the rows are from is reported too.
    assert len((scoring_folder(config) / DRAWN_FROM_FILE).read_text(encoding="utf-8").split()) == 2
    assert set(drawn_sheets(config, files_of(scoring_folder(config)))) == {"sheet", "sheet-2"}
    monkeypatch.setattr(registry, "source_digest", source_digest)
    registry.reward_version.cache_clear()
    assert known_scores(config) == files_of(first)
