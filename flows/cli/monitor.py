"""Command `tucano monitor`: compare the champion's production answers with its evaluation."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.options import Json, Overrides, Profile

if TYPE_CHECKING:
    from flows.stages.monitor import Monitored


def monitor(
    logs: Annotated[
        Path | None,
        typer.Argument(help="Logs as .jsonl or .parquet, or a folder of them; monitor.logs where not given."),
    ] = None,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    report: Annotated[
        Path | None, typer.Option(help="The folder of the report; an earlier report in it is replaced.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Score production logs, and say whether the champion keeps its promise; exit code 3 where it does not."""
    from flows.runtime.console import say
    from flows.runtime.session import BYTES_NEEDED, session
    from schemas.config.profiles import load_config
    from schemas.errors import InputError
    from tasks.monitor.logs import log_files

    config = load_config(profile, overrides)
    given = logs or config.monitor.logs
    if given is None:
        raise InputError("no logs are given; name a file or folder of them, or add --set monitor.logs=PATH")
    files = log_files(given)
    count = len(files.files)
    say(f"monitoring {count} file{'' if count == 1 else 's'} of logs, state in {config.state.root}")
    # What is kept of logs is compressed, and so smaller than they are.
    needed = BYTES_NEEDED + files.bytes
    with session(config, bytes_needed=needed):
        from flows.stages.monitor import monitor as flow

        monitored = flow(config, given)
    _tell(monitored, report, as_json=as_json)
    if monitored.drifted:
        raise typer.Exit(3)


def _tell(monitored: "Monitored", report: Path | None, *, as_json: bool) -> None:
    from flows.cli.tables.monitor import print_monitoring
    from flows.runtime.console import say
    from tasks.monitor.report import REPORT_PAGE
    from tasks.monitor.stage import last_days

    print_monitoring(monitored, last_days(monitored.stage.path))
    folder = monitored.stage.path
    if report is not None:
        _copy(folder, report)
        folder = report
    say(f"report: {folder / REPORT_PAGE}")
    if as_json:
        typer.echo(json.dumps(_as_document(monitored), ensure_ascii=False))


def _copy(folder: Path, report: Path) -> None:
    """Copy the report, without the answers that it is made from."""
    from flows.cli.output_folder import new_folder
    from tasks.monitor.stage import ANSWERS_FILE

    parts = [part for part in sorted(folder.iterdir()) if part.name != ANSWERS_FILE]
    with new_folder(report, frozenset(part.name for part in parts)) as draft:
        for part in parts:
            # The artifact's own files are read-only.
            if part.is_dir():
                shutil.copytree(part, draft / part.name, copy_function=shutil.copyfile)
            else:
                shutil.copyfile(part, draft / part.name)


def _as_document(monitored: "Monitored") -> dict[str, Any]:
    stage = monitored.stage
    return {
        **monitored.found,
        "sha256": stage.record.sha256,
        "path": str(stage.path),
        "reused": stage.reused,
        "seconds": dict(monitored.seconds),
    }
