"""Command `tucano retrain`: the whole chain."""

import json
from typing import TYPE_CHECKING, Any

import typer

from flows.cli.options import Fresh, Json, Overrides, Profile

if TYPE_CHECKING:
    from flows.retrain import Retraining


def retrain(
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    fresh: Fresh = False,
    as_json: Json = False,
) -> None:
    """Retrain, end to end. Run again, it resumes: finished stages are skipped."""
    from flows.cli.chain import get_ready
    from flows.runtime.console import say
    from flows.runtime.session import BYTES_NEEDED, session
    from flows.runtime.signals import told_about_fresh
    from schemas.config.profiles import load_config

    config = load_config(profile, overrides)
    say(f"retraining with profile {profile}, seed {config.seed}, state in {config.state.root}")
    with told_about_fresh(fresh), session(config, bytes_needed=BYTES_NEEDED, meanwhile=lambda: get_ready(config)):
        from flows.cli.tables.retraining import print_retraining
        from flows.retrain import retrain as flow

        result = flow(config, fresh=fresh)
    print_retraining(result)
    if as_json:
        typer.echo(json.dumps(_as_document(result), ensure_ascii=False))
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
