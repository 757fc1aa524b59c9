"""Flow `retrain`: every stage in order, each skipped where its inputs are unchanged."""

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from prefect import flow, get_run_logger
from prefect.artifacts import create_markdown_artifact
from prefect.runtime import flow_run

from flows.runtime.console import say
from flows.runtime.deployed import deployed, run_name
from flows.runtime.events import emit_held
from flows.runtime.links import mlflow_page
from flows.runtime.stores import open_recorder, open_registry, open_store
from flows.stages.answers import try_rivals
from flows.stages.audit import audit
from flows.stages.base import base
from flows.stages.changed_keys import warn_of_changed_keys
from flows.stages.curate import curate
from flows.stages.evaluate import evaluate
from flows.stages.promote import promote, read_decision
from flows.stages.remote_training import train_remotely
from flows.stages.runner import FRESH_FOLDER, StageResult
from flows.stages.scores import known_scores, people_scores
from flows.stages.synthesize import synthesize
from flows.stages.train import best_seed, stage_name, train
from schemas.config.config import Config
from tasks.commerce.registry import joint_version
from tasks.evaluate.compare import read_report
from tasks.train.sizing.fit import refuse_unfit

Until = Literal["audit", "train", "evaluate", "promote"]


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


def _run_name() -> str:
    """Name a run by its last stage, the day and the seed."""
    until = flow_run.parameters.get("until", "promote")
    return run_name("retrain" if until == "promote" else until)


@flow(name="retrain", flow_run_name=_run_name)
def retrain(config: Config, *, fresh: bool = False, until: Until = "promote") -> Retraining:
    """Retrain a model: synthesize, curate, audit, base, train, evaluate, promote, or up to one of these.

    The audit comes first of all that costs, where people have scored these rewards; where they have not, they are
    given completions of the base policy, and the audit follows it.

    Interrupted, the run of a deployment is scheduled again, and resumes where another worker takes it.
    """
    with deployed(config):
        return _run_chain(config, fresh=fresh, until=until)


def _run_chain(config: Config, *, fresh: bool, until: Until) -> Retraining:
    """Run the stages in their order; arguments as of `retrain`."""
    started = time.monotonic()
    refuse_unfit(config)
    recorder = open_recorder(config)
    recorder.end_abandoned()
    open_store(config).clean_drafts()
    warn_of_changed_keys(config)
    tags = {
        "seed": str(config.seed),
        "config_digest": config.digest(),
        "reward_version": joint_version(),
        "prefect_run_id": str(flow_run.id),
    }
    stages: dict[str, StageResult] = {}
    with recorder.pipeline(_run_name(), tags, config=config.model_dump(mode="json", exclude={"state"})) as run:
        stages["synthesize"] = prompts = synthesize(config, run, fresh=fresh)
        stages["curate"] = dataset = curate(config, run, prompts, fresh=fresh)
        if until in {"evaluate", "promote"}:
            try_rivals(config, dataset, fresh=fresh)
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
                emit_held(decision)
    champion = open_registry(config).holder(config.promote.model_name, config.promote.alias)
    _show(config, stages, decision, champion.version if champion else None)
    shutil.rmtree(config.state.root / FRESH_FOLDER, ignore_errors=True)
    if all(stage.reused for stage in stages.values()):
        why = "no data, configuration or code has changed since an earlier run, so nothing was made again"
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
    return train_remotely(config, pipeline_run, given, fresh=str(flow_run.root_flow_run_id) if fresh else None)


def _show(config: Config, stages: Mapping[str, StageResult], decision: Mapping[str, Any], champion: str | None) -> None:
    """Show a run's results.

    Args:
        config: The run's configuration.
        stages: Each stage's result, in order of execution.
        decision: The decision; empty where there was none.
        champion: The version that holds the alias now.
    """
    verdict = f"The gate says **{decision['verdict']}** of version {decision['version']}." if decision else ""
    serves = f"`{config.promote.alias}` is version {champion}." if champion else f"Nobody is `{config.promote.alias}`."
    lines = [
        f"{verdict} {serves}".strip(),
        "",
        *(f"- {reason}" for reason in decision.get("reasons", ())),
        "",
        "| stage | artifact | seconds | |",
        "|---|---|---:|---|",
        *(_row(config, name, result) for name, result in stages.items()),
    ]
    create_markdown_artifact(key="retraining", markdown="\n".join(lines), description="What came of this run?")


def _row(config: Config, name: str, result: StageResult) -> str:
    page = mlflow_page(result.record, config)
    artifact = f"{result.record.kind} {result.record.sha256[:12]}"
    made = "made earlier" if result.reused else "made now"
    return f"| {name} | {f'[{artifact}]({page})' if page else artifact} | {result.seconds:.1f} | {made} |"
