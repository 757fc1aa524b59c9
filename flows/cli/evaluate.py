"""Command `tucano evaluate`: the comparison on the test split, after the stages that it needs."""

import typer

from flows.cli.chain import run_chain
from flows.cli.options import Fresh, Json, Overrides, Profile, StateFolder, Yes, configured, emit
from flows.cli.tables.compare import print_report
from flows.runtime.console import show
from tasks.evaluate.report.page import REPORT_PAGE


def evaluate(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    fresh: Fresh = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Evaluate on the test split, after all that it needs; exit code 3 where the verdict is no promotion."""
    config = configured(profile, overrides, state)
    opening = f"evaluate with profile {profile}, state in {config.state.root}"
    result = run_chain(config, profile, opening, until="evaluate", fresh=fresh, yes=yes)
    print_report(result.report)
    show(f"report: {result.stages['evaluate'].path / REPORT_PAGE}")
    report = {name: result.report[name] for name in ("overall", "tasks", "gate")}
    emit({"seconds": result.seconds, "path": str(result.stages["evaluate"].path), **report}, as_json=as_json)
    if result.report["gate"]["verdict"] != "promote":
        raise typer.Exit(3)
