"""The job itself, on the machine with the card: `python -m flows.l4.work ARTIFACTS JOB FOLDER`.

It trains one seed after the other, each resumed from its newest checkpoint in the mirror, and leaves each policy in the
shared store. It needs no Prefect server. A signal ends it with exit code 4, and any machine resumes it.
"""

import sys
from pathlib import Path

from flows.runtime.console import say, show
from flows.runtime.session import BYTES_NEEDED, INTERRUPTED, configure_prefect, state_folder
from flows.runtime.signals import interruptible, sigterm_on_parent_exit
from schemas.errors import Interrupted, TucanoError
from schemas.python_process import collect_rarely
from schemas.timeouts import PARENT_SECONDS
from tasks.checkpoints.shared_artifacts import SharedArtifacts


def main(artifacts: str, job_id: str, folder: str) -> None:
    """Do a job that was left in the shared store, with its state in the folder that it was made for."""
    collect_rarely()
    try:
        with interruptible(INTERRUPTED), sigterm_on_parent_exit():
            configure_prefect(Path(folder))
            _train(SharedArtifacts(artifacts), job_id)
    except TucanoError as error:
        show(f"tucano: {error}")
        sys.exit(error.exit_code)


def _train(shared: SharedArtifacts, job_id: str) -> None:
    # Prefect reads these settings when it is imported.
    from flows.l4.job import leave_ending, read_job  # noqa: PLC0415
    from flows.remote import training  # noqa: PLC0415

    job = read_job(shared, job_id)
    config, phrases = job.config, job.config.rewards.phrases
    try:
        # An earlier process may still save its work: it ends after the one that waited for it.
        with state_folder(config, bytes_needed=BYTES_NEEDED, patience=2 * PARENT_SECONDS):
            if phrases is not None and job.phrases is not None:
                phrases.write_text(job.phrases, encoding="utf-8")
            for number, request in enumerate(job.requests, start=1):
                say(f"{request.stage}: training {number} of {len(job.requests)}")
                training.fn(config, request)
    except TucanoError as error:
        if not isinstance(error, Interrupted):
            leave_ending(shared, job_id, error)
        raise


if __name__ == "__main__":
    main(*sys.argv[1:])
