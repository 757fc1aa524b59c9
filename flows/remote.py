"""Flows `training` and `inference`: the deployments on the GPU machine that work for a retraining elsewhere."""

import shutil
from collections.abc import Callable, Mapping
from typing import Any, Final

from prefect import flow
from prefect.runtime import flow_run

from flows.runtime.deployed import deployed, run_name
from flows.stages.answers import Answering, answer
from flows.stages.audit import sheet
from flows.stages.base import make_model, merge
from flows.stages.remote import RemoteRequest, open_exchange
from flows.stages.runner import FRESH_FOLDER, Session, StageResult
from flows.stages.train import train
from schemas.config.config import Config
from schemas.errors import InputError

Given = Mapping[str, StageResult]


def _answer(session: Session, given: Given, call: Mapping[str, Any]) -> list[StageResult]:
    policy, merged = (given[role].record if role in given else None for role in ("policy", "merged"))
    who = Answering(base=given["base"].record, policy=policy, merged=merged, **call)
    return [answer(session, given["dataset"], given["plan"], who)]


def _merge(session: Session, given: Given, call: Mapping[str, Any]) -> list[StageResult]:
    made = merge(session, given["base"].record, given["policy"].record, given["dataset"], name=call["name"])
    return [made] if made is not None else []


def _model(session: Session, given: Given, call: Mapping[str, Any]) -> list[StageResult]:
    further = given["base"].record if "base" in given else None
    return [make_model(call["name"], session, given["dataset"], further=further)]


def _sheet(session: Session, given: Given, call: Mapping[str, Any]) -> list[StageResult]:
    return [sheet(session, given["prompts"], given["dataset"], given["base"], tuple(call["tasks"]))]


FUNCTIONS: Final[Mapping[str, Callable[[Session, Given, Mapping[str, Any]], list[StageResult]]]] = {
    "train": lambda session, given, _: list(train(session, given).values()),
    "answer": _answer,
    "merge": _merge,
    "model": _model,
    "sheet": _sheet,
}
"""All that another machine may ask for."""


def _name_of_inference() -> str:
    request: RemoteRequest | None = flow_run.parameters["request"]
    return run_name("inference" if request is None else f"inference-{request.stage}")


@flow(name="inference", flow_run_name=_name_of_inference)
def inference(config: Config, request: RemoteRequest | None = None) -> None:
    """Make a stage that needs weights, of a retraining on another machine, and leave its artifact for it.

    Interrupted, it is scheduled again.
    """
    _work(config, request)


@flow(name="training", flow_run_name=lambda: run_name("train"))
def training(config: Config, request: RemoteRequest | None = None) -> None:
    """Train what a retraining on another machine requests, and leave the policies for it.

    Interrupted, it is scheduled again, and resumes from its newest checkpoint where another worker takes it.
    """
    _work(config, request)


def _work(config: Config, request: RemoteRequest | None) -> None:
    if request is None:
        raise InputError(
            "no run asks this deployment for work; start `retrain/retrain`, with until=train or until=evaluate where "
            "no promotion is wanted, which requests what needs weights and runs this deployment"
        )

    def make(given: Given) -> list[StageResult]:
        keys = frozenset(request.keys)
        session = Session(config, run=request.pipeline_run, fresh=request.fresh, keys=keys)
        session.recorder.end_abandoned()
        return FUNCTIONS[request.function](session, given, request.call)

    with deployed(config):
        open_exchange(config).answer(request, make)
        shutil.rmtree(config.state.root / FRESH_FOLDER, ignore_errors=True)
