"""Flow `retrain`: every stage in order, each skipped where its inputs are unchanged."""

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from prefect import flow, get_run_logger
from prefect.events import emit_event
from prefect.runtime import flow_run

from flows.runtime.console import say
from flows.runtime.deployed import dated, deployed
from flows.runtime.stores import open_recorder, open_registry, open_store
from flows.stages.audit import audit
from flows.stages.base import base
from flows.stages.changed_keys import tell_changed_keys
from flows.stages.curate import curate
from flows.stages.evaluate import evaluate
from flows.stages.promote import promote, read_decision
from flows.stages.retraining_page import show_retraining
from flows.stages.runner import FRESH_FOLDER, StageResult
from flows.stages.scores import known_scores, people_scores
from flows.stages.synthesize import synthesize
from flows.stages.train import best_seed, stage_name, train
from schemas.config.config import Config
from tasks.commerce.registry import joint_version
from tasks.evaluate.compare import read_report
from tasks.train.sizing.fit import refuse_unfit

Until = Literal["audit", "train", "evaluate", "promote"]
HELD_EVENT: Final = "tucano.held"
"""Event of a version that the gate holds; an automation of infra/automations notifies people."""


@dataclass(frozen=True)
class Retraining:
    """Result of a run of the chain, as far as it went."""

    stages: Mapping[str, StageResult]
    """Each stage's result, in order of execution; with several seeds each training is a stage."""
    seconds: float
    """Wall time of the chain."""
    policies: Mapping[int, StageResult]
    """The trained policies by seed, also among the stages."""
    report: Mapping[str, Any]
    """The evaluation's report.json; empty where nothing was evaluated."""
    decision: Mapping[str, Any]
    """The promotion's decision.json; empty where nothing was decided."""
    champion: str | None
    """The version that holds the alias now; a run after the deciding one may have moved it."""


def run_name() -> str:
    """Name a run by its last stage, the day and the seed."""
    until = flow_run.parameters.get("until", "promote")
    return dated("retrain" if until == "promote" else until)


@flow(name="retrain", flow_run_name=run_name)
def retrain(config: Config, *, fresh: bool = False, until: Until = "promote") -> Retraining:
    """Retrain a model: synthesize, curate, audit, base, train, evaluate, promote, or up to one of these.

    The audit comes first of all that costs, where people have scored these rewards; where they have not, they are
    given completions of the base policy, and the audit follows it.

    Interrupted, the run of a deployment is scheduled again, and goes on where another worker takes it.
    """
    with deployed(config):
        return run_chain(config, fresh=fresh, until=until)


def run_chain(config: Config, *, fresh: bool, until: Until) -> Retraining:
    """Run the stages in their order; arguments as of `retrain`."""
    started = time.monotonic()
    refuse_unfit(config)
    recorder = open_recorder(config)
    recorder.end_abandoned()
    open_store(config).clean_drafts()
    tell_changed_keys(config)
    tags = {
        "seed": str(config.seed),
        "config_digest": config.digest(),
        "reward_version": joint_version(),
        "prefect_run_id": str(flow_run.id),
    }
    stages: dict[str, StageResult] = {}
    with recorder.pipeline(run_name(), tags, config=config.model_dump(mode="json", exclude={"state"})) as run:
        stages["synthesize"] = prompts = synthesize(config, run, fresh=fresh)
        stages["curate"] = dataset = curate(config, run, prompts, fresh=fresh)
        scored = known_scores(config)
        if scored is not None:
            stages["audit"] = audit(config, run, scored, fresh=fresh)
        stages["base"] = base_model = base(config, run, dataset, fresh=fresh)
        if scored is None:
            scored = people_scores(config, run, prompts, dataset, base_model)
            stages["audit"] = audit(config, run, scored, fresh=fresh)
        audited = stages["audit"]
        policies: Mapping[int, StageResult] = {}
        report: Mapping[str, Any] = {}
        decision: Mapping[str, Any] = {}
        if until != "audit":
            given = {"prompts": prompts, "dataset": dataset, "base": base_model, "audit": audited}
            policies = _train(config, run, given, fresh=fresh)
            stages |= {stage_name(seed, policies): policy for seed, policy in policies.items()}
        if until in {"evaluate", "promote"}:
            stages |= evaluate(config, run, prompts, dataset, base_model, audited, policies, fresh=fresh)
            report = read_report(stages["evaluate"].path)
        if until == "promote":
            policy, evaluation = policies[best_seed(policies)], stages["evaluate"]
            stages["promote"] = promotion = promote(config, run, policy, evaluation, base_model, dataset, fresh=fresh)
            decision = read_decision(promotion.path)
            if decision["verdict"] != "promote" and not promotion.reused:
                _tell_held(decision)
    champion = open_registry(config).holder(config.promote.model_name, config.promote.alias)
    show_retraining(config, stages, decision, champion.version if champion else None)
    shutil.rmtree(config.state.root / FRESH_FOLDER, ignore_errors=True)
    if all(stage.reused for stage in stages.values()):
        why = "no data, configuration or code has changed since an earlier run, so nothing was made anew"
        say(why)
        get_run_logger().info(why)
    get_run_logger().info("done: %s", decision["verdict"] if decision else f"until {until}")
    return Retraining(
        stages=stages,
        seconds=time.monotonic() - started,
        policies=policies,
        report=report,
        decision=decision,
        champion=champion.version if champion else None,
    )


def _tell_held(decision: Mapping[str, Any]) -> None:
    model = f"{decision['model']} version {decision['version']}"
    resource = {"prefect.resource.id": f"tucano.promotion.{decision['version']}", "prefect.resource.name": model}
    emit_event(HELD_EVENT, resource=resource, payload={"reason": "; ".join(decision["reasons"])})


def _train(
    config: Config, pipeline_run: str, given: Mapping[str, StageResult], *, fresh: bool
) -> Mapping[int, StageResult]:
    """Train where the configuration says, here or remotely, and return the policies by seed."""
    if config.workers.training is None:
        here: Mapping[int, StageResult] = train(
            config,
            pipeline_run,
            prompts=given["prompts"],
            dataset=given["dataset"],
            base=given["base"],
            audit=given["audit"],
            fresh=fresh,
        )
        return here
    from flows.stages.remote_training import train_elsewhere

    return train_elsewhere(config, pipeline_run, given, fresh=str(flow_run.root_flow_run_id) if fresh else None)
