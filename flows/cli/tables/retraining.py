"""Tables of `tucano retrain`: time by stage, what the evaluation found, and what was decided."""

from typing import TYPE_CHECKING

from flows.cli.tables.compare import print_report
from flows.runtime.console import print_table, show
from tasks.evaluate.report.page import REPORT_PAGE
from tasks.policy.merge import MERGED_FOLDER

if TYPE_CHECKING:
    from flows.retrain import Retraining


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
    if decision["merged"] is not None:
        show(f"model: {result.stages['promote'].path / MERGED_FOLDER}")
    if result.champion == decision["version"]:
        show("next: `tucano ask TASK`, `tucano ui`, `tucano monitor LOGS`")
    else:
        number = decision["version"]
        show(f"next: `tucano ask TASK --version {number}`, `tucano ui`, `tucano promote {number} --force REASON`")
