"""One job: what a machine with a card is asked for, as one JSON document in the store that both machines reach.

Its id is a digest of what it makes, so that a second start finds the first one's job, and nothing is paid twice.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from flows.stages.child_pool import ChildPool
from flows.stages.remote import Exchange, RemoteRequest, config_elsewhere, request_for
from flows.stages.runner import Results, Session
from flows.stages.train import STAGE, seed_stage, training_name, training_seeds
from schemas.config.config import Config
from schemas.config.workers import WorkersConfig
from schemas.errors import GateRefused, InputError, TucanoError
from tasks.checkpoints.address import open_store
from tasks.checkpoints.lease import Lease
from tasks.checkpoints.shared_artifacts import SharedArtifacts

SECONDS_OF_A_CLAIM: Final = 60.0
ENDINGS: Final[Mapping[str, type[TucanoError]]] = {str(each.exit_code): each for each in (GateRefused, InputError)}
"""Errors that a job may end with, by exit code; all others are a `TucanoError`."""
NOTE: Final = "l4-{}"
ENDING_NOTE: Final = "l4-{}-ended"
"""Names of a job's notes in the shared store: itself, and the exit code and sentence that it ended with."""


class Job(BaseModel):
    """All trainings of a retraining."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    config: Config
    """As the machine needs it: it hands nothing over, and its paths are those of that machine."""
    requests: tuple[RemoteRequest, ...]
    trainings: tuple[str, ...]
    """Their names in the mirror, in the same order."""
    phrases: str | None = None
    """The shop's own phrases, the text of `rewards.phrases`."""

    @property
    def id(self) -> str:
        """Sixteen digits of the sha256 of what is requested, which has the trainer's code, settings and inputs."""
        return hashlib.sha256("\n".join(sorted(each.name for each in self.requests)).encode()).hexdigest()[:16]


def make_job(config: Config, given: Results, *, folder: Path, interpreter: Path | None, mlflow: str | None) -> Job:
    """Return the job that trains every seed from artifacts by role, with its state in a folder of its machine.

    `interpreter` is the trainer's Python there, and `mlflow` a store that it reaches; None: its own, lost with it.
    """
    session, alone = Session(config), ChildPool(1)
    records = {role: result.record for role, result in given.items()}
    stages = {seed: seed_stage(session, seed, given, alone, alone.run_child) for seed in training_seeds(config)}
    # The job hands nothing over, and so needs no MLflow server that a bucket's other machines need.
    workers = WorkersConfig(**config.workers.model_dump(exclude={"training", "inference"}))
    there, phrases = config_elsewhere(config.model_copy(update={"workers": workers})), config.rewards.phrases
    own = {
        "state": there.state.model_copy(update={"root": folder, "mlflow": mlflow}),
        "rewards": there.rewards.model_copy(update={"phrases": folder / "phrases.toml" if phrases else None}),
        "train": there.train.model_copy(update={"interpreter": interpreter}),
    }
    return Job(
        config=there.model_copy(update=own),
        requests=tuple(
            request_for(stage, session, STAGE, records, what="training", seed=seed) for seed, stage in stages.items()
        ),
        trainings=tuple(training_name(config, seed, stage.inputs) for seed, stage in stages.items()),
        phrases=None if phrases is None else phrases.read_text(encoding="utf-8"),
    )


def post(job: Job, exchange: Exchange) -> None:
    """Leave the job in the shared store, with all that it starts from."""
    exchange.push({sha256 for request in job.requests for sha256 in request.artifacts.values()})
    exchange.shared.leave(NOTE.format(job.id), job.model_dump_json().encode())
    exchange.shared.leave(ENDING_NOTE.format(job.id), b"")


def is_posted(job: Job, exchange: Exchange) -> bool:
    """Return whether the job was left before."""
    return exchange.shared.note(NOTE.format(job.id)) is not None


def read_job(shared: SharedArtifacts, job_id: str) -> Job:
    """Return a job that was left; InputError where there is none, or where its writer's code was another."""
    text = shared.note(NOTE.format(job_id))
    if text is None:
        raise InputError(f"the store has no job {job_id}; start it by `tucano l4`")
    try:
        return Job.model_validate_json(text)
    except ValidationError:
        raise InputError(
            f"the job {job_id} is of another version of this program; give both machines the same version"
        ) from None


def leave_ending(shared: SharedArtifacts, job_id: str, error: TucanoError) -> None:
    """Leave the exit code and the sentence with which a job fails."""
    shared.leave(ENDING_NOTE.format(job_id), f"{error.exit_code} {error}".encode())


def read_ending(shared: SharedArtifacts, job: Job) -> TucanoError | None:
    """Return the error with which a job failed; None where it left none."""
    code, _, sentence = (shared.note(ENDING_NOTE.format(job.id)) or b"").decode().partition(" ")
    return ENDINGS.get(code, TucanoError)(f"the job ended: {sentence}") if sentence else None


@contextmanager
def claimed(job: Job, address: str) -> Iterator[Lease]:
    """Be the only one who starts this job and waits for it; InputError where somebody else does."""

    def refuse(held: str, _: float) -> None:
        raise InputError(f"another `tucano l4` has this job ({held.partition(';')[0]}); wait for its end") from None

    store, prefix = open_store(address)
    lease = Lease.acquire(store, f"{prefix}jobs/{job.id}/", seconds=SECONDS_OF_A_CLAIM, waiting=refuse)
    lease.start()
    try:
        yield lease
    finally:
        lease.release()
