"""The training flow: what the deployment on the machine with the GPU runs, for another run or by itself."""

from typing import Any

from prefect import flow
from prefect.runtime import flow_run

from flows.deployed import deployed
from flows.handed_training import DECIDING, Given, answer_for, fetch, open_shared
from flows.retrain import run_chain
from flows.stage import StageResult, open_recorder, open_store
from flows.train import train, training_key
from schemas.config import Config
from schemas.errors import InputError


def run_name() -> str:
    """Name a run by what it is: the day on which it was to start, and the seed."""
    config: dict[str, Any] | Config = flow_run.parameters["config"]
    seed = config.seed if isinstance(config, Config) else config["seed"]
    return f"train-{flow_run.scheduled_start_time:%Y-%m-%d}-seed{seed}"


@flow(name="training", flow_run_name=run_name)
def training(config: Config, given: Given | None = None) -> None:
    """Train, and leave the policies for the run that waits for them.

    Interrupted, it is scheduled again, and goes on from its newest checkpoint where another worker takes it.

    Args:
        config: What to train, and with what state.
        given: What another run hands over, by way of `state.artifacts`; where nothing is, all that comes before the
            training is done here.
    """
    with deployed(config):
        if given is None:
            run_chain(config, fresh=False, until="train")
        else:
            _train_given(config, given)


def _train_given(config: Config, given: Given) -> None:
    shared, store = open_shared(config), open_store(config)
    store.clean_drafts()
    stages: dict[str, StageResult] = {role: fetch(sha256, shared, store) for role, sha256 in given.artifacts.items()}
    if training_key(config, {role: stages[role].record for role in DECIDING}) != given.key:
        raise InputError(
            "this worker would not train what is asked for: its code is another than that of the run which waits for "
            "it; give both machines the same version, and run that one again"
        )
    open_recorder(config).end_abandoned()
    policies = train(config, given.pipeline_run, **stages, fresh=given.fresh is not None)
    answer_for(given, policies, shared)
