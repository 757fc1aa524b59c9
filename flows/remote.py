"""Flows `training` and `inference`: the deployments on the GPU machine that work for a retraining elsewhere."""

import shutil
from functools import partial

from prefect import flow
from prefect.runtime import flow_run

from flows.runtime.deployed import deployed, run_name
from flows.stages.remote import open_exchange
from flows.stages.remote_training import TrainingRequest, train_for_another
from flows.stages.runner import FRESH_FOLDER, Session
from flows.stages.stage_child import ChildRequest, run_for_another, work_for_another
from schemas.config.config import Config
from schemas.errors import InputError


def _name_of_inference() -> str:
    request: ChildRequest | None = flow_run.parameters["request"]
    return run_name("inference" if request is None else f"inference-{request.stage}")


@flow(name="inference", flow_run_name=_name_of_inference)
def inference(config: Config, request: ChildRequest | None = None) -> None:
    """Run the child process of a stage of a retraining on another machine, and leave its output for it.

    Interrupted, it is scheduled again.
    """
    if request is None:
        raise InputError(
            "there is no request to infer; start `retrain/retrain`, with until=evaluate where no promotion is "
            "wanted, which requests what needs weights and runs this deployment"
        )
    with deployed(config):
        session = Session(config)
        open_exchange(config).answer(request, partial(run_for_another, session, request))
        shutil.rmtree(work_for_another(session, request), ignore_errors=True)


@flow(name="training", flow_run_name=lambda: run_name("train"))
def training(config: Config, request: TrainingRequest | None = None) -> None:
    """Train what a retraining on another machine requests, and leave the policies for it.

    Interrupted, it is scheduled again, and resumes from its newest checkpoint where another worker takes it.
    """
    if request is None:
        raise InputError(
            "there is no request to train; start `retrain/retrain`, with until=train where no more is wanted, which "
            "makes what a training needs and runs this deployment"
        )
    with deployed(config):
        session = Session(config, run=request.pipeline_run, fresh=request.fresh)
        open_exchange(config).answer(request, partial(train_for_another, session, request))
        shutil.rmtree(config.state.root / FRESH_FOLDER, ignore_errors=True)
