"""What the server, the flow or the profile would not take is refused before anything is written."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml
from prefect.cli.deploy._models import PrefectYamlModel
from prefect.client.orchestration import SyncPrefectClient
from prefect.exceptions import ObjectNotFound

from flows.deploy.apply import AUTOMATIONS_FOLDER, DEPLOYMENTS_FILE, POOLS_FILE, Planned, plan, read_declared
from flows.runtime.deployed import absolute_config
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError
from schemas.source import REPOSITORY
from tests.flows.infra_folder import copied, replace


class EmptyServer:
    """A server that has nothing, and keeps what deployments it is given."""

    def __init__(self) -> None:
        self.deployments: dict[str, dict[str, Any]] = {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def read(*_: object, **__: object) -> Any:
            if name in {"read_work_pool", "read_deployment_by_name"}:
                raise ObjectNotFound(Exception())
            return []

        return read

    def create_flow_from_name(self, name: str) -> str:
        return name

    def create_deployment(self, flow: str, name: str, **given: Any) -> None:
        self.deployments[f"{flow}/{name}"] = given


def planned(folder: Path, config: Config, server: EmptyServer | None = None) -> tuple[list[Planned], list[str]]:
    return plan(cast("SyncPrefectClient", server or EmptyServer()), folder, config, "l4")


@pytest.mark.parametrize("profile", ["local", "l4", "l4-next"])
def test_each_deployment_is_filled_with_the_profile(profile: str) -> None:
    server, config = EmptyServer(), load_config(profile)
    things, warnings = planned(REPOSITORY, config, server)
    for thing in things:
        if thing.kind == "deployment":
            thing.write()
    assert {thing.is_there for thing in things} == {False}
    assert list(server.deployments) == [thing.name for thing in things if thing.kind == "deployment"]
    for given in server.deployments.values():
        assert Config.model_validate(given["parameters"]["config"]) == absolute_config(config)
        assert "profile:l4" in given["tags"]
        assert given["job_variables"]["command"] == "prefect flow-run execute"
        assert given["concurrency_options"].collision_strategy == "ENQUEUE"
    assert server.deployments["retrain/audit"]["parameters"]["until"] == "audit"
    assert sum("notifies nobody: the server has no notification block tucano" in each for each in warnings) == 4


def test_an_automation_without_its_notification_block_does_nothing() -> None:
    created: list[Any] = []
    server = EmptyServer()
    server.create_automation = created.append  # type: ignore[attr-defined]
    things, _ = planned(REPOSITORY, load_config("local"), server)
    next(thing for thing in things if thing.name == "gate-refused").write()
    assert [action.type for action in created[0].actions] == ["do-nothing"]


AUDIT = "    name: audit\n"
DRIFT, CRASHED = AUTOMATIONS_FOLDER / "drift.yaml", AUTOMATIONS_FOLDER / "rescheduling.yaml"


@pytest.mark.parametrize(
    ("file", "old", "new", "reported"),
    [
        (
            DEPLOYMENTS_FILE,
            "    concurrency_limit: 1",
            "  concurrency_limit: 1",
            r"prefect\.yaml is no YAML: .*line \d+",
        ),
        (DEPLOYMENTS_FILE, "deployments:", "deployment:", r"prefect\.yaml has no deployments"),
        (
            DEPLOYMENTS_FILE,
            "concurrency_limit: 1",
            "concurency_limit: 1",
            r"deployments\.0\.concurrency_limit is missing",
        ),
        (DEPLOYMENTS_FILE, "    tags: [retrain]", "    tag: [retrain]", r"deployments\.0\.tag: Extra inputs"),
        (DEPLOYMENTS_FILE, "name: audit\n", "name: evaluate\n", "name the deployment retrain/evaluate twice"),
        (DEPLOYMENTS_FILE, "flows.prune.prune", "flows.prone.prune", "prune: flows.prone.prune cannot be imported"),
        (DEPLOYMENTS_FILE, "flows.prune.prune", "flows.prune.flow", "flows.prune.flow is no Prefect flow"),
        (DEPLOYMENTS_FILE, "until: audit", "untill: audit", "does not take its parameters: .*untill"),
        (DEPLOYMENTS_FILE, '"0 2 * * 6"', '"0 2 * * 9"', "deployment retrain: its schedules: "),
        (DEPLOYMENTS_FILE, "name: l4-spot\n", "name: l4\n", "nor the server has its work pool l4"),
        (POOLS_FILE, "concurrency_limit: 3", "concurrency: 3", "concurrency: Extra inputs"),
        (POOLS_FILE, "type: process", "type: vertex-ai", "type 'vertex-ai' needs a base_job_template"),
        (
            POOLS_FILE,
            "type: process",
            "type: process\n    base_job_template: gone.json",
            r"gone\.json is no job template",
        ),
        (DRIFT, "retrain/retrain", "retrain/retry", "automation model-drifted: it starts 'retrain/retry', and neither"),
        (CRASHED, "posture: Reactive", "posture: Reactiv", r"rescheduling.yaml, automation retrain-crashed: .*posture"),
    ],
)
def test_a_slip_is_one_sentence_before_anything_is_written(
    tmp_path: Path, file: Path, old: str, new: str, reported: str
) -> None:
    folder = copied(tmp_path / "checkout")
    replace(folder / file, old, new)
    with pytest.raises(InputError, match=reported) as caught:
        planned(folder, load_config("local"))
    assert "\n" not in str(caught.value)


def test_a_worker_that_is_no_deployment_and_a_pool_of_another_type_are_refused(tmp_path: Path) -> None:
    remote = ["workers.training=training/trian", f"state.artifacts={tmp_path}"]
    with pytest.raises(InputError, match=r"workers.training is 'training/trian', and neither prefect.yaml nor"):
        planned(REPOSITORY, load_config("local", remote))
    server = EmptyServer()
    server.read_work_pool = lambda _: SimpleNamespace(type="docker")  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r"work pool cpu has the type 'docker', and infra/work_pools.yaml says 'proce"):
        planned(REPOSITORY, load_config("local"), server)


def test_prefects_own_command_reads_the_deployments_in_the_same_sense() -> None:
    theirs = PrefectYamlModel.model_validate(yaml.safe_load((REPOSITORY / DEPLOYMENTS_FILE).read_text()))
    for their, our in zip(theirs.deployments, read_declared(REPOSITORY).deployments, strict=True):
        assert their.work_pool is not None
        assert (their.entrypoint, their.concurrency_limit) == (our.entrypoint, our.concurrency_limit)
        assert (their.work_pool.name, their.work_pool.job_variables) == tuple(dict(our.work_pool).values())


def test_a_pool_of_another_type_is_made_with_its_template(tmp_path: Path) -> None:
    folder, server = copied(tmp_path / "checkout"), EmptyServer()
    made: list[Any] = []
    changed = "type: vertex-ai\n    base_job_template: vertex.json\n    description: One"
    replace(folder / POOLS_FILE, "type: process\n    description: One", changed)
    template = {"job_configuration": {"image": "a"}, "variables": {"properties": {}}}
    (folder / "infra" / "vertex.json").write_text(json.dumps(template), encoding="utf-8")
    server.create_work_pool = made.append  # type: ignore[attr-defined]
    things, _ = planned(folder, load_config("local"), server)
    for thing in things[:2]:
        thing.write()
    own, vertex = made
    assert (own.type, vertex.type, vertex.base_job_template) == ("process", "vertex-ai", template)
    assert own.base_job_template["job_configuration"]["command"]
