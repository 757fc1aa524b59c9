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
from schemas.errors import GateRefused, InputError, Interrupted, TucanoError
from tasks.checkpoints.address import open_store
from tasks.checkpoints.lease import Lease
from tasks.checkpoints.shared_artifacts import SharedArtifacts

SECONDS_OF_A_CLAIM: Final = 60.0
ENDINGS: Final[Mapping[int, type[TucanoError]]] = {each.exit_code: each for each in (GateRefused, InputError)}


class Ending(BaseModel):
    """The last sentence of a job that failed, which it leaves in the store."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    exit_code: int
    sentence: str

    @property
    def error(self) -> TucanoError:
        """The job's own error."""
        return ENDINGS.get(self.exit_code, TucanoError)(f"the job ended: {self.sentence}")


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
    seeds = training_seeds(config)
    stages = [seed_stage(session, seed, given, alone, alone.run_child) for seed in seeds]
    requests = [
        request_for(stage, session, STAGE, records, what="training", seed=seed)
        for seed, stage in zip(seeds, stages, strict=True)
    ]
    # The job hands nothing over, and so needs no MLflow server that a bucket's other machines need.
    workers = WorkersConfig(**config.workers.model_dump(exclude={"training", "inference"}))
    there = config_elsewhere(config.model_copy(update={"workers": workers}))
    state = there.state.model_copy(update={"root": folder, "mlflow": mlflow})
    rewards, train = there.rewards.model_copy(update={"phrases": None}), there.train
    own = {"state": state, "rewards": rewards, "train": train.model_copy(update={"interpreter": interpreter})}
    phrases = config.rewards.phrases
    return Job(
        config=there.model_copy(update=own),
        requests=tuple(requests),
        trainings=tuple(training_name(config, seed, stage.inputs) for seed, stage in zip(seeds, stages, strict=True)),
        phrases=None if phrases is None else phrases.read_text(encoding="utf-8"),
    )


def post(job: Job, exchange: Exchange) -> None:
    """Leave the job in the shared store, with all that it starts from."""
    exchange.push({sha256 for request in job.requests for sha256 in request.artifacts.values()})
    exchange.shared.leave(_note(job.id), job.model_dump_json().encode())
    exchange.shared.leave(_ending_note(job.id), b"")


def is_posted(job: Job, exchange: Exchange) -> bool:
    """Return whether the job was left before."""
    return exchange.shared.note(_note(job.id)) is not None


def read_job(shared: SharedArtifacts, job_id: str) -> Job:
    """Return a job that was left; InputError where there is none, or where its writer's code was another."""
    text = shared.note(_note(job_id))
    if text is None:
        raise InputError(f"the store has no job {job_id}; start it by `tucano l4`")
    try:
        return Job.model_validate_json(text)
    except ValidationError:
        raise InputError(
            f"the job {job_id} is of another version of this program; give both machines the same version"
        ) from None


def leave_ending(shared: SharedArtifacts, job_id: str, error: TucanoError) -> None:
    """Leave the sentence with which a job ends."""
    ending = Ending(exit_code=error.exit_code, sentence=str(error))
    shared.leave(_ending_note(job_id), ending.model_dump_json().encode())


def read_ending(shared: SharedArtifacts, job: Job) -> Ending | None:
    """Return the sentence with which a job ended; None where it left none."""
    text = shared.note(_ending_note(job.id))
    return Ending.model_validate_json(text) if text else None


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


def require_claim(lease: Lease) -> None:
    """End a wait that somebody else took over, as while this machine slept."""
    if lease.lost.is_set():
        raise Interrupted("another `tucano l4` has this job now; wait for its end, and run the same command again")


def _note(job_id: str) -> str:
    return f"l4-{job_id}"


def _ending_note(job_id: str) -> str:
    return f"l4-{job_id}-ended"
