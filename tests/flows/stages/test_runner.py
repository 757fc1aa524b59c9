"""A stage without Prefect: reused by the same cache, and where nothing may be made, never begun; and one made again."""

from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prefect import flow
from prefect.filesystems import LocalFileSystem
from prefect.results import ResultStore
from prefect.serializers import JSONSerializer

from flows.runtime.session import open_store
from flows.stages import runner
from flows.stages.runner import Session, Stage, WorkDue, only_reuse, run_stage
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError
from tests.flows.prefect_state import prefect_state
from tests.tasks.lineage.made import commit


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config("local", [f"state.root={tmp_path}"])


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of Prefect's cache, in a process that no server records and that must not open MLflow."""

    def refuse(_: Config) -> Any:
        raise AssertionError("MLflow was opened")

    folder = tmp_path / "storage"
    monkeypatch.setattr(runner, "PREFECT_LOCAL_STORAGE_PATH", SimpleNamespace(value=lambda: folder))
    monkeypatch.setattr(runner, "is_recorded", lambda: False)
    monkeypatch.setattr("flows.runtime.runs.is_recorded", lambda: False)
    monkeypatch.setattr(runner, "open_recorder", refuse)
    return folder


@pytest.fixture
def stage() -> Stage:
    def work(*_: Any) -> None:
        raise AssertionError("the stage was made")

    return Stage(
        name="plan", kind="plan", sources=("tasks.evaluate.preregistration",), config_digest="d", inputs={},
        work=work, summary=lambda _: {},
    )  # fmt: skip


def finish(stage: Stage, config: Config, storage: Path) -> str:
    """Keep an artifact of a stage as an earlier run of Prefect did."""
    record = commit(open_store(config), "plan", {"plan.json": "{}"})
    cache = ResultStore(result_storage=LocalFileSystem(basepath=str(storage)), serializer=JSONSerializer())
    cache.write({"sha256": record.sha256}, key=stage.key)
    return record.sha256


def test_finished_stages_are_reused_without_prefect_and_mlflow(stage: Stage, config: Config, storage: Path) -> None:
    sha256 = finish(stage, config, storage)
    with only_reuse():
        result = run_stage(stage, Session(config))
    assert (result.record.sha256, result.reused) == (sha256, True)


def test_a_stage_that_is_not_there_or_damaged_is_work(stage: Stage, config: Config, storage: Path) -> None:
    with only_reuse(), pytest.raises(WorkDue):
        run_stage(stage, Session(config))
    file = open_store(config).path(finish(stage, config, storage)) / "plan.json"
    file.chmod(0o644)
    file.write_text("{ }", encoding="utf-8")
    with only_reuse(), pytest.raises(WorkDue):
        run_stage(stage, Session(config))


def test_a_stage_for_which_the_disk_has_no_room_does_not_begin(
    stage: Stage, config: Config, storage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "BYTES_FOR_A_STAGE", 10**18)
    with pytest.raises(InputError, match=r"MB free and the stage plan needs \d+; free some space and run the same"):
        run_stage(stage, Session(config))
    assert not config.state.root.joinpath("artifacts").exists()
    sha256 = finish(stage, config, storage)
    assert run_stage(stage, Session(config)).record.sha256 == sha256


STAGES = ("plan", "draw", "weigh")


class Killed(Exception):
    """Stands for the end of the process."""


@pytest.fixture
def recorded(config: Config, prefect_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Record runs on Prefect's server, and none in MLflow."""
    run = SimpleNamespace(run_id="m", log_figures=lambda _: None, log_output=lambda *_: None)
    recorder = SimpleNamespace(stage=lambda *_: nullcontext(run), note_reuse=lambda *_: None)
    monkeypatch.setattr(runner, "open_recorder", lambda _: recorder)
    with prefect_state(prefect_server, config.state.root):
        yield


def made_by(config: Config, pipeline_run: str, *, fresh: bool, killed: tuple[str, str] | None = None) -> list[str]:
    """Return the stages that a chain makes before its end, which may come inside a stage or after it."""
    made: list[str] = []

    def stage_of(name: str) -> Stage:
        def work(draft: Path, *_: Any) -> None:
            (draft / "plan.json").write_text(f"{name} {pipeline_run}", encoding="utf-8")
            if killed == ("inside", name):
                raise Killed
            made.append(name)

        return Stage(name, "plan", ("tasks.evaluate.preregistration",), name, {}, work, lambda _: {})

    @flow
    def chain() -> None:
        for name in STAGES:
            run_stage(stage_of(name), session)
            if killed == ("after", name):
                raise Killed

    # A run that is scheduled again keeps its identity.
    session = Session(config, pipeline_run, fresh=pipeline_run if fresh else None)
    with suppress(Killed):
        chain()
    return made


@pytest.mark.integration
@pytest.mark.usefixtures("recorded")
def test_a_fresh_run_interrupted_inside_and_after_each_stage_makes_each_again_once(config: Config) -> None:
    assert made_by(config, "before", fresh=False) == [*STAGES]
    for stage in STAGES:
        assert made_by(config, "again", fresh=True, killed=("inside", stage)) == []
        assert made_by(config, "again", fresh=True, killed=("after", stage)) == [stage]
    assert made_by(config, "again", fresh=True) == []
    assert made_by(config, "later", fresh=False) == []
    assert made_by(config, "another", fresh=True, killed=("after", "plan")) == ["plan"]
    texts = [path.read_text(encoding="utf-8") for path in config.state.root.glob("artifacts/plan/*/content/plan.json")]
    made = [f"{name} {run}" for name in STAGES for run in ("before", "again")]
    assert sorted(texts) == sorted([*made, "plan another"])
