"""Outcomes of trainings, kept in a folder: a benchmark that was stopped resumes where it was."""

import hashlib
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final

from benchmarks.training.arms import Job, Outcome, run

STATE: Final = Path(".tucano") / "benchmark-training"


def outcome_of(job: Job, code: str) -> Outcome:
    """Return the outcome of a training, which runs if that code has not run it before."""
    folder = STATE / "trainings"
    folder.mkdir(exist_ok=True)
    name = digest(job.model_dump_json(), code)
    result, log = folder / f"{name}.json", folder / f"{name}.log"
    if not result.exists():
        with log.open("w", encoding="utf-8") as output, redirect_stdout(output), redirect_stderr(output):
            outcome = run(job)
        draft = result.with_suffix(".draft")
        draft.write_text(outcome.model_dump_json(), encoding="utf-8")
        draft.replace(result)
    return Outcome.model_validate_json(result.read_text(encoding="utf-8"))


def digest(*parts: str) -> str:
    """Return a name for some content."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
