"""Command `tucano audit label`: score a sheet's completions with the keys of a terminal."""

from pathlib import Path

from flows.cli.label.screen import LabelApp, answers, farewell
from flows.cli.label.session import refuse_failure, refuse_without_terminal, run_on_terminal
from flows.runtime.console import show
from flows.runtime.signals import interruptible
from schemas.errors import Interrupted
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
    refuse_without_terminal(
        "label", f", or open the sheet {sheet} in a spreadsheet and fill human_score, rater, rater_kind and notes"
    )
    with interruptible("interrupted; every score is saved, and the same command resumes"):
        labelling = Labelling(sheet, rater, task)
        if labelling.current is None:
            show(f"nada a pontuar: {rater} já deu nota a {answers(labelling.total)} de {sheet}")
            return
        app = LabelApp(labelling)
        run_on_terminal(app)
    if app.interrupted:
        raise Interrupted(
            f"interrupted; {labelling.left} of {labelling.total} completions are left, every score is saved"
            f"{_notes_lost(labelling)}, and the same command resumes"
        )
    refuse_failure(app)
    show(farewell(labelling))


def _notes_lost(labelling: Labelling) -> str:
    notes = labelling.notes_without_score
    return f" but {notes} {'note' if notes == 1 else 'notes'} without one" if notes else ""
