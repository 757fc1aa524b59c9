"""Command `tucano monitor`: compare the champion's production answers with its evaluation."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.options import Json, Overrides, Profile, StateFolder, configured, emit
from flows.cli.output_folder import new_folder
from flows.runtime.console import say, show
from flows.runtime.session import BYTES_NEEDED, has_server, session
from flows.runtime.stores import logs_to_monitor, open_store
from schemas.config.config import Config
from schemas.tables.log_file import log_files, require_rows

if TYPE_CHECKING:
    from flows.stages.monitor import Monitored


def monitor(
    logs: Annotated[
        Path | None,
        typer.Argument(
            help="Logs as .jsonl or .parquet, or a folder of them; if not given, monitor.logs, or what `serve` wrote."
        ),
    ] = None,
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    report: Annotated[
        Path | None, typer.Option(help="The folder of the report; an earlier report in it is replaced.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Score production logs, and say whether the champion answers as at its evaluation; exit code 3 for any alarm."""
    config = configured(profile, overrides, state)
    given = logs_to_monitor(config, logs)
    files = log_files(given)
    # Where some were monitored before, no row may mean that nobody is answered any more.
    if not files.has_rows and not open_store(config).records("monitoring"):
        require_rows(files)
    count = len(files.files)
    say(f"monitoring {count} file{'' if count == 1 else 's'} of logs, state in {config.state.root}")
    # What is kept of logs is compressed, and so smaller than they are.
    needed = BYTES_NEEDED + files.bytes
    with session(config, bytes_needed=needed):
        # Prefect reads the session's settings when it is imported.
        from flows.monitor import monitor as flow  # noqa: PLC0415

        # It schedules nothing, so that it starts no server of its own.
        monitored = (flow if has_server() else flow.fn)(config, given)
    _show(monitored, report, config, as_json=as_json)
    if monitored.reasons:
        raise typer.Exit(3)


def _show(monitored: "Monitored", report: Path | None, config: Config, *, as_json: bool) -> None:
    # Its statistics take seconds to import, which the flow has done by now.
    from flows.cli.tables.monitor import print_monitoring  # noqa: PLC0415
    from tasks.monitor.report import REPORT_PAGE  # noqa: PLC0415
    from tasks.monitor.stage import last_days  # noqa: PLC0415

    print_monitoring(monitored, last_days(monitored.stage.path), config)
    folder = monitored.stage.path
    if report is not None:
        _copy(folder, report)
        folder = report
    show(f"report: {folder / REPORT_PAGE}")
    emit(_as_document(monitored), as_json=as_json)


def _copy(folder: Path, report: Path) -> None:
    """Copy the report, without the answers that it is made from."""
    from tasks.monitor.stage import ANSWERS_FILE  # noqa: PLC0415 - as above

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
        "silence": monitored.silence and monitored.silence.reason,
        "seconds": dict(monitored.seconds),
    }
