"""The promote flow: every policy is registered with its card; the alias moves only if the gate or a person says so."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from flows.console import say
from flows.pages import linked_to_mlflow
from flows.registry import open_registry
from flows.session import work_folder
from flows.stage import Stage, StageResult, config_digest, run_stage
from schemas.config import Config, PolicyConfig
from schemas.progress import Progress
from tasks.evaluate.compare import read_report
from tasks.evaluate.model_card import CardFacts, model_card
from tasks.evaluate.report_metrics import metrics_of_report
from tasks.evaluate.report_text import REPORT_TEXT
from tasks.lineage.models import DECISION_FILE
from tasks.lineage.recorder import StageRun
from tasks.lineage.registry import PolicyVersion
from tasks.policy.adapters import ADAPTER_FOLDER
from tasks.policy.child import run_child
from tasks.policy.merge import MergeCheck
from tasks.policy.merge_child import MergeRequest
from tasks.train.summaries import read_summary

CARD_FILE = "README.md"


@flow(name="promote", flow_run_name="promote-seed{config.seed}", validate_parameters=False)
def promote(
    config: Config,
    pipeline_run: str,
    policy: StageResult,
    evaluation: StageResult,
    base: StageResult,
    dataset: StageResult,
    *,
    by_hand: bool = False,
    forced: str | None = None,
    fresh: bool = False,
) -> StageResult:
    """Register the model, write its card and its weights, and, last of all, move the alias.

    On the gate's word the alias moves once for each policy: run again or evaluated anew later, it undoes no rollback
    and no newer promotion.

    Args:
        config: The run's configuration.
        pipeline_run: MLflow's run of which this is a stage.
        policy: The trained policy.
        evaluation: What was found of it.
        base: The base that it was trained on.
        dataset: The dataset, whose validation prompts the merged model is checked on.
        by_hand: A person asks for this version: it is promoted also where its policy was before.
        forced: A person's reason to promote it though the gate said no; None: the gate's word counts.
        fresh: Make everything again.
    """
    inputs = {"policy": policy, "evaluation": evaluation, "base": base, "dataset": dataset}

    def work(output: Path, progress: Progress, mlflow_run: StageRun) -> None:
        report = read_report(evaluation.path)
        verdict = report["gate"]["verdict"]
        registry = open_registry(config)
        before = registry.holder(config.promote.model_name, config.promote.alias)
        registered = registry.register(
            mlflow_run.run_id,
            config.promote.model_name,
            policy=policy.record,
            evaluation=evaluation.record,
            verdict=verdict,
            metrics=metrics_of_report(report),
            base_model=_hub_name(config.policy),
            load_in_4bit=config.train.load_in_4bit,
        )
        promoted = verdict == "promote" or forced is not None
        merged = _merge(config, policy.path, base.path, dataset.path, output, progress) if promoted else None
        decision = {
            "model": config.promote.model_name,
            "version": registered.version,
            "alias": config.promote.alias,
            "verdict": verdict,
            "reasons": report["gate"]["reasons"],
            "version_before": before.version if before else None,
            "forced": forced,
            "merged": merged.model_dump() if merged else None,
        }
        facts = _facts(decision, report, registered, merged, inputs)
        (output / CARD_FILE).write_text(model_card(facts), encoding="utf-8")
        (output / DECISION_FILE).write_text(json.dumps(decision, indent=1, ensure_ascii=False), encoding="utf-8")

    stage = Stage(
        name="promote",
        kind="promotion",
        sources=(
            "schemas",
            "flows/promote.py",
            "tasks.lineage.registry",
            "tasks.policy",
            "tasks.evaluate.model_card",
            "tasks.evaluate.markdown",
            "tasks.evaluate.report_metrics",
        ),
        config_digest=config_digest(config.promote.model_dump(mode="json"), forced),
        inputs={role: result.record for role, result in inputs.items()},
        work=work,
        summary=_figures,
        reports=(DECISION_FILE, CARD_FILE),
    )
    result = run_stage(stage, config, pipeline_run, fresh=fresh)
    if result.reused and not _is_registered(config, result, policy, evaluation):
        # The registry was lost or emptied since: what was decided has to be registered again.
        result = run_stage(stage, config, pipeline_run, fresh=True)
    told = _carry_out(config, result, by_hand=by_hand)
    say(told)
    reasons = read_decision(result.path)["reasons"]
    markdown = "\n".join([f"**{told}**", "", *(f"- {reason}" for reason in reasons)])
    create_markdown_artifact(
        key="promotion", markdown=linked_to_mlflow(markdown, result.record, config), description="Did the alias move?"
    )
    return result


def read_decision(folder: Path) -> Mapping[str, Any]:
    """Read what was decided: the model's version, the verdict and its reasons."""
    decision: Mapping[str, Any] = json.loads((folder / DECISION_FILE).read_text(encoding="utf-8"))
    return decision


def _is_registered(config: Config, result: StageResult, policy: StageResult, evaluation: StageResult) -> bool:
    version = read_decision(result.path)["version"]
    name = config.promote.model_name
    return open_registry(config).knows(name, version, policy.record.sha256, evaluation.record.sha256)


def _carry_out(config: Config, result: StageResult, *, by_hand: bool) -> str:
    """Move the alias where that is due, and say in a sentence where it is now."""
    decision, names = read_decision(result.path), config.promote
    registry = open_registry(config)
    version = registry.version(names.model_name, decision["version"])
    champion = registry.holder(names.model_name, names.alias)
    this = f"version {version.version} of {names.model_name}"
    if decision["verdict"] != "promote" and decision["forced"] is None:
        return f"{this} is held; `{names.alias}` stays"
    if not by_hand and (reason := _why_not(version, champion, registry.versions(names.model_name), names.alias)):
        return f"{this} {reason}"
    registry.promote(
        names.model_name,
        names.alias,
        names.previous_alias,
        version.version,
        promotion=result.record.sha256,
        forced=decision["forced"],
    )
    if champion is None or champion.version == version.version:
        return f"{this} is now `{names.alias}`"
    if champion.policy == version.policy:
        return f"{this} is now `{names.alias}`, in place of version {champion.version} of the same policy"
    return f"{this} is now `{names.alias}`, and version {champion.version} is `{names.previous_alias}`"


def _why_not(
    version: PolicyVersion, champion: PolicyVersion | None, versions: Sequence[PolicyVersion], alias: str
) -> str | None:
    """Say why the gate's word for a version is not, or no more, carried out; None where it is.

    What became of a policy counts for each version of it: evaluated anew, it is no other policy.
    """
    again = f"; promote it again with `tucano promote {version.version}`"
    of_policy = [known for known in versions if known.policy == version.policy]
    if taken_back := next((known for known in of_policy if known.rolled_back_at is not None), None):
        return f"is of a policy that was rolled back at {taken_back.rolled_back_at}, so `{alias}` stays{again}"
    if champion is not None and champion.policy == version.policy:
        if version.promoted_at is None and int(version.version) >= int(champion.version):
            return None
        return f"is of the policy that is `{alias}` already, as version {champion.version}"
    promoted = [known.promoted_at for known in of_policy if known.promoted_at is not None]
    if not promoted:
        return None
    since = champion or _promoted_after(max(promoted), versions)
    if since is None:
        return None
    return f"is of a policy that was `{alias}` already, and version {since.version} came after it{again}"


def _promoted_after(moment: str, versions: Sequence[PolicyVersion]) -> PolicyVersion | None:
    """Return the version that was promoted last, if that was later; the alias itself may be gone since."""
    later = [known for known in versions if known.rolled_back_at is None and (known.promoted_at or "") > moment]
    return max(later, key=lambda known: known.promoted_at or "", default=None)


def _merge(
    config: Config, policy: Path, base: Path, dataset: Path, output: Path, progress: Progress
) -> MergeCheck | None:
    """Write the merged model; None where each task has an adapter of its own: six copies of a base fit on no disk."""
    adapter = policy / ADAPTER_FOLDER
    if not adapter.is_dir():
        return None
    folder = work_folder(config, "promote")
    check = folder / "merge.json"
    request = MergeRequest(base=base, adapter=adapter, dataset=dataset, output=output, check=check)
    run_child("tasks.policy.merge_child", request, folder, interpreter=config.train.interpreter, progress=progress)
    return MergeCheck.model_validate_json(check.read_text(encoding="utf-8"))


def _hub_name(policy: PolicyConfig) -> str | None:
    """Return the name on a hub of the model that is trained from; a stand-in and a folder have none."""
    return None if policy.stand_in or Path(policy.name).exists() else policy.name


def _facts(
    decision: Mapping[str, Any],
    report: Mapping[str, Any],
    registered: PolicyVersion,
    merged: MergeCheck | None,
    inputs: Mapping[str, StageResult],
) -> CardFacts:
    dataset = inputs["dataset"].path
    return CardFacts(
        decision=decision,
        report=report,
        report_text=(inputs["evaluation"].path / REPORT_TEXT).read_text(encoding="utf-8"),
        training=read_summary(inputs["policy"].path),
        dataset=json.loads((dataset / "summary.json").read_text(encoding="utf-8")),
        data_card=(dataset / "README.md").read_text(encoding="utf-8"),
        base_model=registered.base_model,
        load_in_4bit=registered.load_in_4bit,
        merged=merged,
        identities={role: result.record.sha256 for role, result in inputs.items()},
    )


def _figures(folder: Path) -> Mapping[str, Any]:
    decision = read_decision(folder)
    return {name: value for name, value in decision.items() if name not in {"forced", "merged"} or value is not None}
