"""A deployment is refused before anything is written where its flow, its pool or its schedule would not take it."""

from functools import partial
from typing import Any

import pytest
from prefect.workers.process import ProcessWorker

from flows.deploy.deployments import wanted_deployment
from flows.deploy.files import Deployment, read_declared
from flows.runtime.deployed import absolute_config
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError
from schemas.source import REPOSITORY

wanted = partial(wanted_deployment, template=ProcessWorker.get_default_base_job_template())


@pytest.fixture(scope="module")
def config() -> Config:
    return load_config("l4")


def declared(**changes: Any) -> Deployment:
    first = read_declared(REPOSITORY).deployments[0]
    return Deployment.model_validate({**first.model_dump(), **changes})


@pytest.mark.parametrize("deployment", read_declared(REPOSITORY).deployments, ids=lambda each: each.name)
@pytest.mark.parametrize("profile", ["local", "l4", "l4-next"])
def test_each_deployment_takes_each_profile(deployment: Deployment, profile: str) -> None:
    config = load_config(profile)
    thing = wanted(deployment, config)
    assert Config.model_validate(thing.document["parameters"]["config"]) == absolute_config(config)
    assert thing.name.endswith(f"/{deployment.name}")


@pytest.mark.parametrize(
    ("changes", "reported"),
    [
        ({"entrypoint": "flows.retrein.retrain"}, "flows.retrein.retrain cannot be imported: No module named"),
        ({"entrypoint": "flows.retrain.retrein"}, "flows.retrain.retrein cannot be imported: .* has no attribute"),
        ({"entrypoint": "flows.retrain.run_name"}, "flows.retrain.run_name is no Prefect flow"),
        ({"parameters": {"until": "evaluat"}}, "retrain does not take its parameters: .*until"),
        ({"parameters": {"untill": "evaluate"}}, "retrain does not take its parameters: .*untill"),
        ({"schedules": [{"slug": "weekly", "cron": "0 2 * * 9", "timezone": "UTC"}]}, "its schedule weekly: "),
        ({"schedules": [{"slug": "weekly", "cron": "0 2 * * 6", "timezone": "Sao_Paulo"}]}, "its schedule weekly: "),
        ({"work_pool": {"name": "cpu", "job_variables": {"comand": "x"}}}, "pool cpu has no job variable comand; it"),
        ({"work_pool": {"name": "cpu", "job_variables": {"command": 3}}}, "job variables of the pool cpu: .*'command'"),
    ],
)
def test_a_slip_is_one_sentence_with_the_deployments_name(
    config: Config, changes: dict[str, Any], reported: str
) -> None:
    with pytest.raises(InputError, match=rf"^prefect\.yaml, deployment retrain: .*{reported}") as caught:
        wanted(declared(**changes), config)
    assert "\n" not in str(caught.value)


def test_a_retraining_that_outlasts_its_schedule_is_refused() -> None:
    long = load_config("l4", ["train.max_steps=20000"])
    with pytest.raises(InputError, match=r"takes up to \d+ h, .* weekly asks for one every 168 h") as caught:
        wanted(declared(), long)
    assert "\n" not in str(caught.value)
    assert wanted(declared(schedules=[]), long).document["schedules"] == {}


def test_a_template_without_variables_takes_none(config: Config) -> None:
    thing = wanted_deployment(declared(work_pool={"name": "cpu"}), config, {"variables": {}})
    assert thing.document["job_variables"] == {}
    with pytest.raises(InputError, match="the pool cpu has no job variable command"):
        wanted_deployment(declared(), config, {"variables": {}})
