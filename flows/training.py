"""Flow `training`: the deployment on the GPU machine that trains for a retraining elsewhere."""

import shutil

from prefect import flow

from flows.runtime.console import say
from flows.runtime.deployed import deployed, run_name
from flows.runtime.stores import open_recorder, open_store
from flows.stages.remote_run import fetch, open_shared
from flows.stages.remote_training import DECIDING, RemoteTrainRequest, fetch_answer, publish_policies
from flows.stages.runner import FRESH_FOLDER, StageResult
from flows.stages.train import train, training_key
from schemas.config.config import Config
from schemas.errors import InputError


@flow(name="training", flow_run_name=lambda: run_name("train"))
def training(config: Config, given: RemoteTrainRequest | None = None) -> None:
    """Train what a retraining on another machine requests, and leave the policies for it.

    Interrupted, it is scheduled again, and resumes from its newest checkpoint where another worker takes it.

    Args:
        config: What to train, and with what state.
        given: The retraining's request, by way of `state.artifacts`.

    Raises:
        InputError: There is no request, or this worker would train another thing than what is asked for.
    """
    if given is None:
        raise InputError(
            "there is no request to train; start `retrain/retrain`, with until=train where no more is wanted, which "
            "makes what a training needs and runs this deployment"
        )
    with deployed(config):
        _train(config, given)


def _train(config: Config, given: RemoteTrainRequest) -> None:
    shared, store = open_shared(config), open_store(config)
    store.clean_drafts()
    before = fetch_answer(given, shared, store)
    if before is not None:
        say(f"train: the policies of the training {given.name[:12]} are there already")
        publish_policies(given, before, shared)
        return
    stages: dict[str, StageResult] = {role: fetch(sha256, shared, store) for role, sha256 in given.artifacts.items()}
    if training_key(config, {role: stages[role].record for role in DECIDING}) != given.key:
        raise InputError(
            "this worker would not train what is asked for: its code is another than that of the run which waits for "
            "it; give both machines the same version, and run that one again"
        )
    open_recorder(config).end_abandoned()
    policies = train(
        config, given.pipeline_run, **stages, fresh=given.fresh is not None, fresh_for=given.fresh, pool=None
    )
    publish_policies(given, policies, shared)
    shutil.rmtree(config.state.root / FRESH_FOLDER, ignore_errors=True)
