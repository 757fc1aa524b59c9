"""Command `tucano retrain`: the whole chain."""

from typing import TYPE_CHECKING, Any

import typer

from flows.cli.chain import run_chain
from flows.cli.options import Fresh, Json, Overrides, Profile, StateFolder, Yes, configured, emit
from flows.cli.tables.retraining import print_retraining

if TYPE_CHECKING:
    from flows.retrain import Retraining


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
