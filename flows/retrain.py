"""Flow `retrain`: every stage in order, each skipped where its inputs are unchanged."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from prefect import flow
from prefect.runtime import flow_run

from flows.plan.cheap import make_policies
from flows.runtime.console import captured
from flows.runtime.prefect_client import emit_held
from flows.runtime.runs import add_tags, deployed, is_recorded, logging_of_chain, profile_of_run, run_name
from flows.runtime.session import open_recorder, open_store
from flows.stages.adoption import Adopted
from flows.stages.audit import audit, known_scores, people_scores
from flows.stages.child_pool import expect_stage_children, pool_of
from flows.stages.evaluate import evaluate
from flows.stages.inputs import base, curate, synthesize
from flows.stages.promote import promote, read_decision
from flows.stages.retraining import Retraining, Until, conclude
from flows.stages.runner import Session, StageResult, WorkDue, only_reuse
from flows.stages.train import best_seed, stage_name
from schemas.config.config import Config
from tasks.commerce.registry import joint_version
from tasks.evaluate.compare import read_report
from tasks.policy.endpoint import authorization
from tasks.train.sizing.memory import refuse_unfit

TRAINED_FROM: Final = {"prompts": "synthesize", "dataset": "curate", "base": "base", "audit": "audit"}
"""Stages that a training starts from, by the role of their artifacts."""


def _run_name() -> str:
    until = flow_run.parameters.get("until", "promote")
    return run_name("retrain" if until == "promote" else until)


@flow(name="retrain", flow_run_name=_run_name)
def retrain(config: Config, *, fresh: bool = False, until: Until = "promote", adopted: Adopted = None) -> Retraining:
    """Retrain a model: synthesize, curate, audit, base, plan, train, evaluate, promote, or up to one of these.

    The audit comes first of all that costs, where people have scored these rewards; where they have not, they are
    given completions of the base policy, and the audit follows it.

    Interrupted, the run of a deployment is scheduled again, and resumes where another worker takes it.
    """
    with deployed(config), logging_of_chain():
        started = time.monotonic()
        report, decision = dict[str, Any](), dict[str, Any]()
        with _recorded(config) as run:
            session = Session(config, run, fresh=str(flow_run.root_flow_run_id) if fresh else None)
            stages = _given_to_training(session, until)
            given = {role: stages[name] for role, name in TRAINED_FROM.items() if name in stages}
            evaluates = until in {"evaluate", "promote"}
            session = replace(session, pool=pool_of(config) if evaluates else None)
            cheap, policies = make_policies(session, given, until, adopted)
            stages |= {**cheap.stages, **{stage_name(seed, policies): policy for seed, policy in policies.items()}}
            if evaluates:
                stages |= evaluate(session, {**stages, **given}, policies, cheap.made)
                report |= read_report(stages["evaluate"].path)
            if until == "promote":
                found = {"policy": policies[best_seed(policies)], "evaluation": stages["evaluate"]}
                stages["promote"] = promotion = promote(session, {**given, **found})
                decision |= read_decision(promotion.path)
                if decision["verdict"] != "promote" and not promotion.reused:
                    emit_held(decision)
            holder = session.registry.holder(config.promote.model_name, config.promote.alias)
            seconds, champion = time.monotonic() - started, holder.version if holder else None
            result = Retraining(stages, seconds, policies, report, decision, champion, cheap.plan)
            conclude(session, result, until)
        return result


def unchanged(config: Config, until: Until, adopted: Adopted = None) -> Retraining | None:
    """Return the result of a run that would make nothing, without Prefect and MLflow; None where there is work.

    No run is recorded: nothing has happened.
    """
    if is_recorded():
        # Prefect's own files may name a server, too; what goes there is a run.
        return None
    with captured() as lines:
        try:
            with only_reuse():
                return retrain.fn(config, until=until, adopted=adopted)
        except WorkDue:
            # The run that follows says all this again.
            lines.clear()
            return None


@contextmanager
def _recorded(config: Config) -> Iterator[str]:
    """Record a run of the chain in MLflow during the block, and give its id; refuse first what cannot be trained.

    What nothing records makes nothing, and has no id.
    """
    refuse_unfit(config)
    for rival in config.evaluate.rivals:
        authorization(rival.key_variable, f"evaluate.rivals.{rival.name}")
    if not is_recorded():
        yield ""
        return
    recorder = open_recorder(config)
    recorder.end_abandoned()
    open_store(config).clean_drafts()
    add_tags(seed=str(config.seed))
    tags = {
        "seed": str(config.seed),
        "config_digest": config.digest(),
        "reward_version": joint_version(config.rewards.spec),
        "prefect_run_id": str(flow_run.id),
    }
    if (profile := profile_of_run()) is not None:
        tags["profile"] = profile
    with recorder.pipeline(_run_name(), tags, config=compared_settings(config)) as run:
        yield run


def compared_settings(config: Config) -> dict[str, Any]:
    """Return the settings by which MLflow compares retrainings: no path and no address of this machine."""
    return {name: section for name, section in config.without_paths().items() if name != "state"}


def _given_to_training(session: Session, until: Until) -> dict[str, StageResult]:
    """Make what a training starts from, and return the stages in their order."""
    prompts = synthesize(session)
    if not prompts.reused:  # The base and all behind it are made again, too.
        expect_stage_children(session.config)
    dataset = curate(session, prompts)
    stages = {"synthesize": prompts, "curate": dataset}
    if (scored := known_scores(session.config)) is not None:
        stages["audit"] = audit(session, scored)
    stages["base"] = base_model = base(session, dataset)
    if scored is None and until != "plan":
        stages["audit"] = audit(session, people_scores(session, prompts, dataset, base_model))
    return stages
