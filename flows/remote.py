"""Flows `training` and `inference`: the deployments on the GPU machine that work for a retraining elsewhere."""

import shutil
from collections.abc import Callable, Mapping
from typing import Any, Final

from prefect import flow
from prefect.runtime import flow_run

from flows.plan.cheap import cheap_scores
from flows.runtime.runs import deployed, run_name
from flows.stages.answers import WEIGHTS, Answering, answer
from flows.stages.audit import sheet
from flows.stages.inputs import make_model, merge
from flows.stages.remote import RemoteRequest, open_exchange
from flows.stages.runner import FRESH_FOLDER, Session, StageResult
from flows.stages.train import train
from schemas.config.config import Config
from schemas.errors import InputError

FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "train": lambda session, given, seed: train(session, given, seeds=(seed,))[seed],
    "model": lambda session, given, name: make_model(name, session, given["dataset"], further=given.get("base")),
    "merge": lambda session, given, name: merge(
        session, given["base"].record, given["policy"].record, given["dataset"], name=name
    ),
    "answer": lambda session, given, **who: answer(
        session,
        given["dataset"],
        given["plan"],
        Answering(**{role: given[role].record for role in WEIGHTS if role in given}, **who),
    ),
    "sheet": lambda session, given, tasks: sheet(
        session, given["prompts"], given["dataset"], given["base"], tuple(tasks)
    ),
    "cheap": cheap_scores,
}
"""All that another machine may ask for: functions of a session, artifacts by role, and the request's call."""


def _work(config: Config, request: RemoteRequest | None = None) -> None:
    """Make what a retraining on another machine requests, and leave it for that machine.

    Interrupted, it is scheduled again; a training resumes from its newest checkpoint where another worker takes it.
    """
    if request is None:
        raise InputError(
            "no run asks this deployment for work; start `retrain/retrain`, with until=train or until=evaluate where "
            "no promotion is wanted, which requests what needs weights and runs this deployment"
        )

    def make() -> StageResult:
        session = Session(config, run=request.pipeline_run, fresh=request.fresh, only=request.stage_key)
        session.recorder.end_abandoned()
        given = {role: session.result(exchange.fetch(sha256)) for role, sha256 in request.artifacts.items()}
        made: StageResult = FUNCTIONS[request.function](session, given, **request.call)
        return made

    with deployed(config):
        exchange = open_exchange(config)
        exchange.answer(request, make)
        shutil.rmtree(config.state.root / FRESH_FOLDER, ignore_errors=True)


def _name_of_inference() -> str:
    request: RemoteRequest | None = flow_run.parameters["request"]
    return run_name("inference" if request is None else f"inference-{request.stage}")


training = flow(name="training", flow_run_name=lambda: run_name("train"))(_work)
inference = flow(name="inference", flow_run_name=_name_of_inference)(_work)
