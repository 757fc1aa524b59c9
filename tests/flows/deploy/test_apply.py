"""A slip in the files of a team's set-up is one sentence, and each deployment is filled with the profile."""

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prefect.client.orchestration import SyncPrefectClient
from prefect.exceptions import ObjectNotFound

from flows.deploy.apply import AUTOMATIONS_FOLDER, DEPLOYMENTS_FILE, POOLS_FILE, Thing, apply
from flows.runtime.runs import absolute_config
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError
from schemas.source import REPOSITORY
from tests.flows.infra_folder import copied, replace


class EmptyServer:
    """A server that has nothing, and keeps what it is given."""

    def __init__(self) -> None:
        self.deployments: dict[str, dict[str, Any]] = {}
        self.made: list[Any] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def answer(*given: Any, **_: object) -> Any:
            if name.startswith("create"):
                self.made += given
            return []

        return answer

    def read_deployment_by_name(self, name: str) -> Any:
        if name not in self.deployments:
            raise ObjectNotFound(Exception())
        return SimpleNamespace(id="0" * 32)

    def create_flow_from_name(self, name: str) -> str:
        return name

    def create_deployment(self, flow: str, **given: Any) -> None:
        inspect.signature(SyncPrefectClient.create_deployment).bind(None, flow, **given)
        self.deployments[f"{flow}/{given['name']}"] = given


def applied(
    folder: Path, config: Config, server: EmptyServer | None = None, warn: Callable[[str], None] = lambda _: None
) -> list[Thing]:
    things: list[Thing] = []
    apply(cast("SyncPrefectClient", server or EmptyServer()), folder, config, "l4", things.append, warn)
    return things


@pytest.mark.parametrize("profile", ["local", "l4", "l4-next"])
def test_each_deployment_is_filled_with_the_profile(profile: str) -> None:
    server, config, warnings = EmptyServer(), load_config(profile), list[str]()
    things = applied(REPOSITORY, config, server, warnings.append)
    assert {thing.status for thing in things} == {"made"}
    assert list(server.deployments) == [thing.name for thing in things if thing.kind == "deployment"]
    for given in server.deployments.values():
        assert Config.model_validate(given["parameters"]["config"]) == absolute_config(config)
        assert "profile:l4" in given["tags"]
        assert given["job_variables"]["command"] == "prefect flow-run execute"
        assert given["concurrency_options"].collision_strategy == "ENQUEUE"
    assert server.deployments["retrain/audit"]["parameters"]["until"] == "audit"
    assert sum("notifies nobody: the server has no notification block tucano" in each for each in warnings) == 5
    refused = next(each for each in server.made if getattr(each, "name", "") == "gate-refused")
    assert [action.type for action in refused.actions] == ["do-nothing"]


DRIFT = AUTOMATIONS_FOLDER / "drift.yaml"


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
        (DEPLOYMENTS_FILE, "    tags: [retrain]", "    tag: [retrain]", r"deployment retrain: TypeError: .*'tag'"),
        (DEPLOYMENTS_FILE, "flows.prune.prune", "flows.prone.prune", r"deployment prune: .*flows\.prone"),
        (DEPLOYMENTS_FILE, "until: audit", "untill: audit", "deployment audit: .*untill"),
        (POOLS_FILE, "concurrency_limit: 3", "concurrency: 3", "concurrency: Extra inputs"),
        (POOLS_FILE, "type: process", "type: vertex-ai", "type 'vertex-ai' needs a base_job_template"),
        (
            POOLS_FILE,
            "type: process",
            "type: process\n    base_job_template: gone.json",
            r"gone\.json is no job template",
        ),
        (
            DRIFT,
            "retrain/retrain",
            "retrain/retry",
            "model-drifted: the server does not have its deployment retrain/re",
        ),
    ],
)
def test_a_slip_is_one_sentence(tmp_path: Path, file: Path, old: str, new: str, reported: str) -> None:
    folder = copied(tmp_path / "checkout")
    replace(folder / file, old, new)
    with pytest.raises(InputError, match=reported) as caught:
        applied(folder, load_config("local"))
    assert "\n" not in str(caught.value)


def test_a_pool_has_its_template_and_never_another_type(tmp_path: Path) -> None:
    folder, server = copied(tmp_path / "checkout"), EmptyServer()
    changed = "type: vertex-ai\n    base_job_template: vertex.json\n    description: One"
    replace(folder / POOLS_FILE, "type: process\n    description: One", changed)
    template = {"job_configuration": {"image": "a"}, "variables": {"properties": {}}}
    (folder / "infra" / "vertex.json").write_text(json.dumps(template), encoding="utf-8")
    applied(folder, load_config("local"), server)
    own, vertex = server.made[:2]
    assert (own.type, vertex.type, vertex.base_job_template) == ("process", "vertex-ai", template)
    assert own.base_job_template["job_configuration"]["command"]
    server.read_work_pools = lambda: [SimpleNamespace(name="cpu", type="docker")]  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=r"work pool cpu has the type 'docker', and infra/work_pools.yaml says 'proce"):
        applied(folder, load_config("local"), server)
