"""Command `tucano retrain`: the whole chain."""

from typing import TYPE_CHECKING, Any

import typer

from flows.cli.chain import run_chain
from flows.cli.options import Fresh, Json, Overrides, Profile, StateFolder, Yes, configured, emit
from flows.cli.tables.compare import print_report
from flows.runtime.console import print_table, show
from tasks.evaluate.completions.page import PAGE_FILE
from tasks.evaluate.report.page import REPORT_PAGE
from tasks.policy.merge import MERGED_FOLDER

if TYPE_CHECKING:
    from flows.stages.retraining import Retraining


def retrain(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    fresh: Fresh = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Retrain, end to end. Run again, it resumes: finished stages are skipped."""
    config = configured(profile, overrides, state)
    opening = f"retraining with profile {profile}, seed {config.seed}, state in {config.state.root}"
    result = run_chain(config, profile, opening, until="promote", fresh=fresh, yes=yes)
    print_retraining(result)
    emit(_as_document(result), as_json=as_json)
    if result.decision["verdict"] != "promote":
        raise typer.Exit(3)


def print_retraining(result: "Retraining") -> None:
    """Print where the time went, what the evaluation found and what was decided."""
    print_table(
        "Seconds by stage",
        ("stage", "seconds", "artifact", "made"),
        [
            (name, f"{stage.seconds:.1f}", stage.record.sha256[:12], "earlier" if stage.reused else "now")
            for name, stage in result.stages.items()
        ]
        + [("in all", f"{result.seconds:.1f}", "", "")],
    )
    print_report(result.report)
    decision = result.decision
    show(f"{decision['verdict']}: version {decision['version']} of {decision['model']}")
    show(f"`{decision['alias']}` is " + (f"version {result.champion}" if result.champion else "no version yet"))
    show(f"report: {result.stages['evaluate'].path / REPORT_PAGE}")
    show(f"completions: {result.stages['evaluate'].path / PAGE_FILE}")
    if decision["merged"] is not None:
        show(f"model: {result.stages['promote'].path / MERGED_FOLDER}")
    if result.champion == decision["version"]:
        show("next: `tucano ask TASK`, `tucano ui`, `tucano monitor LOGS`")
    else:
        number = decision["version"]
        show(f"next: `tucano ask TASK --version {number}`, `tucano ui`, `tucano promote {number} --force REASON`")


def _as_document(result: "Retraining") -> dict[str, Any]:
    return {
        "seconds": result.seconds,
        "stages": {
            name: {
                "sha256": stage.record.sha256,
                "path": str(stage.path),
                "seconds": stage.seconds,
                "reused": stage.reused,
            }
            for name, stage in result.stages.items()
        },
        "decision": result.decision,
        "evaluation": {"overall": result.report["overall"], "tasks": result.report["tasks"]},
    }
