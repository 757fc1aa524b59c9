"""Page of a chain's run in Prefect: each stage, its artifact, and the decision."""

from collections.abc import Mapping
from typing import Any, Final

from prefect.artifacts import create_markdown_artifact

from flows.runtime.links import mlflow_page
from flows.stages.runner import StageResult
from schemas.config.config import Config

ARTIFACT: Final = "retraining"


def show_retraining(
    config: Config, stages: Mapping[str, StageResult], decision: Mapping[str, Any], champion: str | None
) -> None:
    """Show a run's results.

    Args:
        config: The run's configuration.
        stages: Each stage's result, in order of execution.
        decision: The decision; empty where there was none.
        champion: The version that holds the alias now.
    """
    told = f"The gate says **{decision['verdict']}** of version {decision['version']}." if decision else ""
    serves = f"`{config.promote.alias}` is version {champion}." if champion else f"Nobody is `{config.promote.alias}`."
    lines = [
        f"{told} {serves}".strip(),
        "",
        *(f"- {reason}" for reason in decision.get("reasons", ())),
        "",
        "| stage | artifact | seconds | |",
        "|---|---|---:|---|",
        *(_row(config, name, result) for name, result in stages.items()),
    ]
    create_markdown_artifact(key=ARTIFACT, markdown="\n".join(lines), description="What came of this run?")


def _row(config: Config, name: str, result: StageResult) -> str:
    page = mlflow_page(result.record, config)
    artifact = f"{result.record.kind} {result.record.sha256[:12]}"
    made = "made earlier" if result.reused else "made now"
    return f"| {name} | {f'[{artifact}]({page})' if page else artifact} | {result.seconds:.1f} | {made} |"
