"""What a run of the chain shows on its own page in Prefect: each stage, what it made, and what was decided."""

from collections.abc import Mapping
from typing import Any, Final

from prefect.artifacts import create_markdown_artifact

from flows.pages import mlflow_page
from flows.stage import StageResult
from schemas.config import Config

ARTIFACT: Final = "retraining"


def show_retraining(
    config: Config, stages: Mapping[str, StageResult], decision: Mapping[str, Any], champion: str | None
) -> None:
    """Show what a run came to.

    Args:
        config: The run's configuration.
        stages: Each stage's result, in the order in which they ran.
        decision: What was decided; empty where nothing was.
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
