"""A remote child process comes to what it would have come to here, is run once, and names its machine."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from flows.remote import inference
from flows.runtime.stores import open_store
from flows.stages import remote, stage_child
from flows.stages.answers import Answering
from flows.stages.remote import REMOTE_FOLDER
from flows.stages.runner import StageResult
from flows.stages.stage_child import ChildRequest, as_local, as_portable
from schemas.config.config import Config
from schemas.errors import InputError
from tasks.evaluate.answers.answer import main
from tasks.evaluate.answers.files import ROLLOUTS_FILE
from tasks.policy.child import Channel
from tests.flows.prefect_state import prefect_state
from tests.flows.stages.test_answers import World, _make_world, ask

pytestmark = pytest.mark.integration

DEVICE = "NVIDIA L4"


@pytest.fixture(scope="module")
def world(prefect_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("state")
    with prefect_state(prefect_server, root):
        yield _make_world(root)


class Team:
    """The other machine: a state folder of its own, and the child's work in this process, which has torch already."""

    def __init__(self, world: World, place: Path) -> None:
        self.world, self.place = world, place
        self.requests: list[ChildRequest] = []
        self.ran = 0

    def run_child(self, module: str, request: BaseModel, folder: Path, **_: Any) -> str:
        assert module == "tasks.evaluate.answers.answer"
        self.ran += 1
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "answer.request.json"
        text = request.model_dump_json()
        if self.requests:
            # Nothing of the machine that waits is named.
            assert str(self.world.root / REMOTE_FOLDER) in text
            assert str(self.world.root / "artifacts") not in text
        file.write_text(text, encoding="utf-8")
        main(file, Channel(io.StringIO()))
        return DEVICE

    def run_deployment(self, config: Config, deployment: str, request: ChildRequest) -> None:
        """Run the deployment's flow with what it is given, as JSON, as a worker would."""
        assert (request.what, deployment) == ("inference", "inference/inference")
        child = ChildRequest.model_validate_json(request.model_dump_json())
        self.requests.append(child)
        state = config.state.model_copy(update={"root": config.state.root / REMOTE_FOLDER})
        inference(config.model_copy(update={"state": state}), child)

    def ask(self, *overrides: str, fresh: bool = False) -> StageResult:
        handing = ("workers.inference=inference/inference", f"state.artifacts={self.place}")
        return ask(self.world, *handing, *overrides, who=self.tuned, fresh=fresh)

    @property
    def tuned(self) -> Answering:
        return Answering("tuned", self.world.base, self.world.policy)


@pytest.fixture
def team(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    team = Team(world, tmp_path / "place")
    monkeypatch.setattr(stage_child, "run_child", team.run_child)
    monkeypatch.setattr(remote, "run_deployment_of", team.run_deployment)
    return team


def test_another_machine_answers_as_this_one_does_and_is_named(team: Team) -> None:
    from prefect.client.orchestration import get_client

    here = ask(team.world, "seed=21", who=team.tuned)
    there = team.ask("seed=21", fresh=True)
    assert (there.path / ROLLOUTS_FILE).read_bytes() == (here.path / ROLLOUTS_FILE).read_bytes()
    assert (here.record.kind, there.record.kind) == ("answers", "answers")
    assert here.record.inputs == there.record.inputs
    assert len(team.requests) == 1
    worker = there.record.worker
    assert worker is not None
    assert worker.device == DEVICE
    assert worker.prefect_run_id is not None
    with get_client(sync_client=True) as client:
        run = client.read_flow_run(UUID(worker.prefect_run_id))
        assert client.read_flow(run.flow_id).name == "inference"
    # Its work folder is gone, as ours is.
    assert list((team.world.root / REMOTE_FOLDER / "work").glob("*")) == []
    assert list((team.world.root / "work").glob("*")) == []


def test_an_earlier_inference_is_fetched_and_not_repeated_but_for_a_fresh_run(team: Team) -> None:
    first = team.ask("seed=22")
    # This machine loses it; the place still has it.
    lost = open_store(team.world.config()).path(first.record.sha256) / ROLLOUTS_FILE
    lost.chmod(0o644)
    lost.write_text("altered", encoding="utf-8")
    again = team.ask("seed=22")
    assert (again.reused, again.record.sha256, team.ran) == (False, first.record.sha256, 1)
    team.ask("seed=22", fresh=True)
    assert team.ran == 2


def test_a_worker_with_other_code_refuses(team: Team) -> None:
    team.ask("seed=24")
    other = team.requests[0].model_copy(update={"code_version": "0" * 64})
    config = team.world.config(f"state.artifacts={team.place}")
    with pytest.raises(InputError, match="give both machines the same version"):
        inference(config, other)


def test_a_run_of_the_deployment_by_hand_says_what_to_start(team: Team) -> None:
    with pytest.raises(InputError, match="retrain/retrain"):
        inference(team.world.config())


class Request(BaseModel):
    model: Path
    adapter: Path | None
    output: Path
    elsewhere: Path
    sizes: tuple[int, ...]


def test_paths_mean_the_same_on_another_machine(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    request = Request(
        model=here / "base",
        adapter=here / "policy" / "adapter",
        output=here / "draft",
        elsewhere=Path("/x"),
        sizes=(1,),
    )
    names = ("base", "policy", "output")
    ours = {"base": here / "base", "policy": here / "policy", "output": here / "draft"}
    portable = as_portable(request.model_dump(), ours)
    assert str(here) not in str(portable)
    local = Request.model_validate(as_local(portable, {name: there / name for name in names}))
    assert (local.model, local.adapter, local.output) == (there / "base", there / "policy/adapter", there / "output")
    assert (local.elsewhere, local.sizes) == (Path("/x"), (1,))


@pytest.mark.parametrize(("place", "path"), [("base", "../x"), ("base", "/etc/passwd"), ("other", "x")])
def test_a_request_leads_out_of_no_folder(tmp_path: Path, place: str, path: str) -> None:
    with pytest.raises(InputError, match="no folder of its own"):
        as_local({"model": {"place": place, "path": path}}, {"base": tmp_path})


def test_no_other_module_is_run(team: Team) -> None:
    team.ask("seed=25")
    with pytest.raises(ValueError, match="module"):
        ChildRequest.model_validate({**team.requests[0].model_dump(), "module": "os"})
