"""Flow `promote`: register every policy with its card; move the alias only on the gate's or a person's decision."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from flows.runtime.console import say
from flows.runtime.runs import linked_to_mlflow, show_markdown, stage_flow
from flows.stages.inputs import merge
from flows.stages.runner import Results, Session, Stage, StageResult, begin_work, config_digest, run_stage
from schemas.progress import Progress
from schemas.tables.summaries import DatasetSummary
from tasks.evaluate.compare import REPORT_TEXT, metrics_of_report, read_report
from tasks.evaluate.report.model_card import CardFacts, model_card
from tasks.lineage.graph.graph import DECISION_FILE
from tasks.lineage.mlflow.recorder import StageRun
from tasks.lineage.mlflow.registry import PolicyVersion
from tasks.policy.child import run_child
from tasks.policy.merge import CHECK_FILE, MERGED_FOLDER, read_check
from tasks.policy.published import PUBLISHED_FILE
from tasks.serve.package import PackageRequest, write_decoding
from tasks.serve.served_model import evaluated_decoding
from tasks.train.summaries import read_summary

CARD_FILE = "README.md"
ROLES: Final = ("policy", "evaluation", "base", "dataset")


@stage_flow("promote")
def promote(session: Session, given: Results, *, by_hand: bool = False, forced: str | None = None) -> StageResult:
    """Register the model, write its card and its weights, and, last of all, move the alias.

    On the gate's word the alias moves once for each policy: run again or evaluated again later, it undoes no rollback
    and no newer promotion.
    """
    config = session.config
    inputs = {role: given[role] for role in ROLES}
    policy, evaluation, base, dataset = inputs.values()
    report = read_report(evaluation.path)
    verdict = report["gate"]["verdict"]
    # Never made again here: the model that answered the test is the one that is served.
    promoted = verdict == "promote" or forced is not None
    merged = merge(replace(session, fresh=None), base.record, policy.record, dataset) if promoted else None
    if merged is not None:
        inputs["merged"] = merged

    def work(output: Path, progress: Progress, mlflow_run: StageRun) -> None:
        registry, hub = session.registry, config.policy
        before = registry.holder(config.promote.model_name, config.promote.alias)
        registered = registry.register(
            mlflow_run.run_id,
            config.promote.model_name,
            policy=policy.record,
            evaluation=evaluation.record,
            verdict=verdict,
            metrics=metrics_of_report(report),
            # A stand-in and a folder have no name on the hub.
            base_model=None if hub.stand_in or Path(hub.name).exists() else hub.name,
            load_in_4bit=config.train.load_in_4bit,
        )
        check = read_check(merged.path) if merged is not None else None
        # Of a hub's repository; a folder and a stand-in have none.
        published = base.path / PUBLISHED_FILE
        commit = json.loads(published.read_text(encoding="utf-8"))["commit"] if published.exists() else None
        decision = {
            "model": config.promote.model_name,
            "version": registered.version,
            "alias": config.promote.alias,
            "verdict": verdict,
            "reasons": report["gate"]["reasons"],
            "version_before": before.version if before else None,
            "forced": forced,
            "merged": check.model_dump() if check else None,
        }
        identities = {role: result.record.sha256 for role, result in inputs.items()}
        text = model_card(
            CardFacts(
                decision=decision,
                report=report,
                report_text=(evaluation.path / REPORT_TEXT).read_text(encoding="utf-8"),
                training=read_summary(policy.path),
                dataset=DatasetSummary.read(dataset.path),
                data_card=(dataset.path / "README.md").read_text(encoding="utf-8"),
                base_model=registered.base_model,
                base_commit=commit,
                load_in_4bit=registered.load_in_4bit,
                merged=check,
                served_is_tested=merged is not None and merged.record.sha256 in evaluation.record.inputs.values(),
                identities=identities,
                base_languages=json.loads((base.path / "config.json").read_text("utf-8")).get("languages", ()),
            )
        )
        (output / CARD_FILE).write_text(text, encoding="utf-8")
        (output / DECISION_FILE).write_text(json.dumps(decision, indent=1, ensure_ascii=False), encoding="utf-8")
        registry.describe(config.promote.model_name, registered.version, text)
        if merged is None:
            return
        weights, work = output / MERGED_FOLDER, session.folder("package")
        shutil.copytree(merged.path, weights, ignore=shutil.ignore_patterns(CHECK_FILE))
        write_decoding(weights, decoding)
        shutil.rmtree(work, ignore_errors=True)
        card, goal, longest = output / CARD_FILE, work / config.promote.model_name, decoding.max_tokens
        request = PackageRequest(weights=weights, card=card, max_tokens=longest, identities=identities, output=goal)
        run_child("tasks.serve.package", request, work, interpreter=None, progress=progress)
        registry.add_model(config.promote.model_name, registered.version, request.output)
        shutil.rmtree(work)

    decoding = evaluated_decoding(evaluation.record.config or config.model_dump(mode="json"))
    stage = Stage(
        name="promote",
        kind="promotion",
        # This flow too: it writes the decision and the card.
        sources=("flows.stages.promote", "tasks.lineage.mlflow.registry"),
        config_digest=config_digest(config.promote.model_dump(mode="json"), forced, asdict(decoding)),
        inputs={role: result.record for role, result in inputs.items()},
        work=work,
        summary=_figures,
        reports=(DECISION_FILE, CARD_FILE),
    )
    result = run_stage(stage, session)
    names, known = config.promote, read_decision(result.path)["version"]
    policy_sha256, evaluation_sha256 = policy.record.sha256, evaluation.record.sha256
    if result.reused and not session.registry.knows(names.model_name, known, policy_sha256, evaluation_sha256):
        # The registry was lost or emptied since: the decision has to be registered again.
        result = run_stage(stage, session, again=True)
    outcome = _carry_out(session, result, by_hand=by_hand)
    say(outcome)
    reasons = read_decision(result.path)["reasons"]
    markdown = "\n".join([f"**{outcome}**", "", *(f"- {reason}" for reason in reasons)])
    markdown = linked_to_mlflow(markdown, result.record, config)
    show_markdown(key="promotion", markdown=markdown, description="Did the alias move?")
    return result


def read_decision(folder: Path) -> Mapping[str, Any]:
    """Read the decision: the model's version, the verdict and its reasons."""
    decision: Mapping[str, Any] = json.loads((folder / DECISION_FILE).read_text(encoding="utf-8"))
    return decision


def _carry_out(session: Session, result: StageResult, *, by_hand: bool) -> str:
    """Move the alias where that is due, and return a sentence that says where it is now."""
    decision, names, registry = read_decision(result.path), session.config.promote, session.registry
    version = registry.version(names.model_name, decision["version"])
    champion = registry.holder(names.model_name, names.alias)
    this = f"version {version.version} of {names.model_name}"
    if decision["verdict"] != "promote" and decision["forced"] is None:
        return f"{this} is held; `{names.alias}` stays"
    if not by_hand and (reason := _why_not(version, champion, registry.versions(names.model_name), names.alias)):
        return f"{this} {reason}"
    begin_work("promote")
    aliases, promotion = (names.model_name, names.alias, names.previous_alias), result.record.sha256
    registry.promote(*aliases, version.version, promotion=promotion, forced=decision["forced"])
    if champion is None or champion.version == version.version:
        return f"{this} is {'now ' if champion is None else ''}`{names.alias}`"
    if champion.policy == version.policy:
        return f"{this} is now `{names.alias}`, in place of version {champion.version} of the same policy"
    return f"{this} is now `{names.alias}`, and version {champion.version} is `{names.previous_alias}`"


def _why_not(
    version: PolicyVersion, champion: PolicyVersion | None, versions: Sequence[PolicyVersion], alias: str
) -> str | None:
    """Explain why the gate's decision is not carried out; a policy's history counts for each of its versions."""
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
    # The alias itself may be gone since.
    later = [each for each in versions if each.rolled_back_at is None and (each.promoted_at or "") > max(promoted)]
    since = champion or max(later, key=lambda each: each.promoted_at or "", default=None)
    if since is None:
        return None
    return f"is of a policy that was `{alias}` already, and version {since.version} came after it{again}"


def _figures(folder: Path) -> Mapping[str, Any]:
    decision = read_decision(folder)
    return {name: value for name, value in decision.items() if name != "reasons" and value is not None}
