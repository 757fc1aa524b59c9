"""Command `tucano audit references`: ask a person for what test prompts' references do not know."""

from pathlib import Path

from flows.cli.label.references_screen import ReferencesApp, references_farewell
from flows.cli.label.session import refuse_failure, refuse_without_terminal, run_on_terminal
from flows.runtime.console import show
from flows.runtime.signals import interruptible
from schemas.errors import InputError, Interrupted
from schemas.given_references import AskedTask
from schemas.tables.prompts import TEST_FILE, read_prompts
from tasks.audit.references import ReferenceSession


def give_references(dataset: Path, file: Path, rater: str, task: AskedTask | None = None) -> None:
    """Let a person answer until all is answered or the person leaves; each answer is saved at once.

    Args:
        dataset: The dataset's folder.
        file: The file of references; others may answer in it at the same time.
        rater: The person's pseudonym.
        task: The only task to ask about; None for all that can be asked.

    Raises:
        InputError: There is no terminal or dataset, the pseudonym is invalid, nothing is unknown, or the file cannot be
            read or written.
        Interrupted: Ctrl-C or SIGTERM; every answer is saved, and the same command resumes.
    """
    refuse_without_terminal("references")
    with interruptible("interrupted; every answer is saved, and the same command resumes"):
        if not (dataset / TEST_FILE).is_file():
            raise InputError(f"{dataset} is no dataset, for it has no {TEST_FILE}; give a folder of `tucano curate`")
        if not file.parent.is_dir():
            raise InputError(f"--out is {file}, and there is no folder {file.parent}; make it first")
        session = ReferenceSession(read_prompts(dataset / TEST_FILE), file, rater, task)
        if session.current is None:
            show(references_farewell(session))
            return
        app = ReferencesApp(session)
        run_on_terminal(app)
    if app.interrupted:
        raise Interrupted(
            f"interrupted; {session.left} of {session.total} answers are left, every other one is saved, and the same "
            "command resumes"
        )
    refuse_failure(app)
    show(references_farewell(session))
    show(f"next: tucano retrain --set curate.references={file}")
