"""Command `tucano audit label`: score a sheet's completions with the keys of a terminal."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from flows.cli.label.screen import LabelApp, answers, farewell
from flows.runtime.console import show
from flows.runtime.signals import interruptible
from schemas.errors import InputError, Interrupted
from schemas.tasks import TaskName
from tasks.audit.labelling import Labelling


def label(sheet: Path, rater: str, task: TaskName | None = None) -> None:
    """Let a person score a sheet until all is scored or the person leaves; each score is saved at once.

    Args:
        sheet: The sheet's file; others may score in it at the same time.
        rater: The person's pseudonym.
        task: The only task to score; None for all.

    Raises:
        InputError: There is no terminal, the pseudonym is invalid, or the sheet cannot be read or written.
        Interrupted: Ctrl-C or SIGTERM; every score is saved, and the same command resumes.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()) or os.environ.get("TERM") == "dumb":
        raise InputError(
            "label needs a terminal that shows it and gives it keys; run it in one, or open the sheet "
            f"{sheet} in a spreadsheet and fill human_score, rater, rater_kind and notes"
        )
    with interruptible("interrupted; every score is saved, and the same command resumes"):
        labelling = Labelling(sheet, rater, task)
        if labelling.current is None:
            show(f"nada a pontuar: {rater} já deu nota a {answers(labelling.total)} de {sheet}")
            return
        if not os.environ.get("NO_COLOR"):
            # Textual leaves colours out where the variable is empty, too.
            os.environ.pop("NO_COLOR", None)
        app = LabelApp(labelling)
        asyncio.run(_run(app))
    if app.interrupted:
        raise Interrupted(
            f"interrupted; {labelling.left} of {labelling.total} completions are left, every score is saved"
            f"{_notes_lost(labelling)}, and the same command resumes"
        )
    if app.failure is not None:
        raise app.failure
    if app.return_code:
        # A mistake of ours, whose traceback is on the terminal.
        sys.exit(app.return_code)
    show(farewell(labelling))


async def _run(app: LabelApp) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, app.interrupt)
    await app.run_async(mouse=False)


def _notes_lost(labelling: Labelling) -> str:
    notes = labelling.notes_without_score
    return f" but {notes} {'note' if notes == 1 else 'notes'} without one" if notes else ""
