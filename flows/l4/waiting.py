"""Waiting for a job: it is found or started, followed, started again where its machine was taken, and ended.

The laptop may be interrupted, asleep or without a network at any time: the job goes on, and the same command finds it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

from flows.l4.job import Job, read_ending
from flows.l4.service import UNDER_WAY, Run, Service, Unreachable
from flows.runtime.console import say, stage_progress, warn
from flows.stages.remote import SECONDS_OF_SILENCE, Exchange
from schemas.errors import InputError, Interrupted, TucanoError
from tasks.checkpoints.address import open_store
from tasks.checkpoints.catalog import MANIFESTS, name_of
from tasks.checkpoints.lease import Lease
from tasks.checkpoints.manifest import parse_name

SECONDS_BETWEEN_LOOKS: Final = 30.0
MAX_PAUSE: Final = 60.0
"""Seconds between two tries where nothing answers."""
MAX_STARTS_IN_VAIN: Final = 3
"""Runs of a job after one another that come to no new checkpoint, after which another one is in vain."""

Result = TypeVar("Result")


@dataclass
class Waiting:
    """The wait of one command for one job."""

    job: Job
    service: Service
    exchange: Exchange
    lease: Lease
    runs: dict[str, Run] = field(default_factory=dict)
    """Each run of the job that was started or found, as it was last."""
    is_paid: bool = False
    """True while a run may be under way."""
    waits_since: float = field(default_factory=time.monotonic)
    """The moment, by `time.monotonic`, at which the run began to wait for a machine, or was last at work."""

    def until_done(self) -> None:
        """Return once every policy is in this machine's store; raise the job's own error where it ended with one."""
        run: Run | None = None
        steps, in_vain = self._steps(), 0
        most = self.job.config.train.max_steps * len(self.job.requests)
        with stage_progress("job") as report:
            while self._is_missing():
                if self.lease.lost.is_set():  # As while this machine slept.
                    raise Interrupted(
                        "another `tucano l4` has this job now; wait for its end, and run the same command again"
                    )
                run = self._patiently(self._found_or_started if run is None else partial(self.service.look, run))
                self.runs[run.name], self.is_paid = run, run.state in UNDER_WAY
                report(min(self._steps(), most), most, f"steps in the mirror; {run.name}: {run.state}")
                if run.state in UNDER_WAY:
                    run = self._within_patience(run)
                elif run.state in {"preempted", "no machine"}:
                    before, steps = steps, self._steps()
                    in_vain = 0 if steps > before else in_vain + (run.state == "preempted")
                    self._require_chance(run, in_vain)
                    run = None
                elif self._is_missing():
                    raise self._error_of(run)
                time.sleep(SECONDS_BETWEEN_LOOKS)

    def end(self) -> list[str]:
        """End what is still paid, and return a sentence for each run of the job that this command knows of."""
        left = [run for run in self.runs.values() if run.state in UNDER_WAY]
        for run in (*left, *self._patiently(partial(self.service.find, self.job.id))):
            self._stop(run)
        return [f"{run.name}: {run.state}" for run in self.runs.values()]

    def _found_or_started(self) -> Run:
        """Return the job's run that is under way, started here if there is none, and end any other."""
        found = self.service.find(self.job.id)
        self.is_paid = bool(found)
        for more in found[1:]:
            warn(f"{more.name} is a second run of the same job, and is ended", "job")
            self._stop(more)
        if found:
            say(f"job: {found[0].name} is under way already")
            return found[0]
        try:
            run = self.service.start(self.job.id)
        except Unreachable:
            self.is_paid = True
            raise
        say(f"job: started {run.name} on {self.service.place}; {run.log}")
        self.waits_since = time.monotonic()
        return run

    def _within_patience(self, run: Run) -> Run | None:
        """Return the run, or None where it has waited for a machine for too long and was ended."""
        if run.state == "running":
            self.waits_since = time.monotonic()
        if time.monotonic() - self.waits_since <= self.service.patience:
            return run
        self._stop(run)
        gone = replace(run, state="no machine", why=f"no machine within {self.service.patience / 60:.0f} minutes")
        self.runs[run.name], self.is_paid = gone, False
        self._require_chance(gone, 0)
        return None

    def _stop(self, run: Run) -> None:
        """End a run, and return once nothing of it is paid any more."""
        began, asked = time.monotonic(), False
        while (now := self._patiently(partial(self.service.look, run))).state in UNDER_WAY:
            if not asked:
                self._patiently(partial(self.service.stop, run))
                asked = True
            elif time.monotonic() - began > SECONDS_OF_SILENCE:
                raise Interrupted(f"{run.name} was asked to end and has not; see {run.log}")
            else:
                time.sleep(SECONDS_BETWEEN_LOOKS / 8)
        self.runs[run.name] = now

    def _require_chance(self, run: Run, in_vain: int) -> None:
        """Say why the run ended, and refuse another one that has no chance."""
        before = self.service.place
        if run.state == "no machine" and not self.service.next_place():
            raise Interrupted(
                f"{before} has no machine now ({run.why}), and no other place is left to try; nothing runs and nothing "
                "is paid: run the same command later, name another --region, or use --on skypilot"
            )
        if in_vain == MAX_STARTS_IN_VAIN:
            raise Interrupted(
                f"{in_vain} runs of the job after one another were taken before a new checkpoint, the last with: "
                f"{run.why}; nothing runs: run the same command later, or with --machines on-demand"
            )
        warn(f"{run.name}: {run.state} ({run.why}); the job starts again on {self.service.place}", "job")

    def _error_of(self, run: Run) -> TucanoError:
        if (ending := read_ending(self.exchange.shared, self.job)) is not None:
            return ending
        if run.state == "stopped":
            return Interrupted(f"somebody ended {run.name}; run the same command again to start the job again")
        if run.state == "done":
            return TucanoError(f"{run.name} is done and left no policy; see {run.log}")
        return TucanoError(f"{run.name} failed ({run.why}); see {run.log}, and run the command again")

    def _is_missing(self) -> bool:
        """Return whether a policy is not here yet; each is fetched as it comes, also where another is missing."""
        return self._patiently(lambda: None in [*map(self.exchange.read, self.job.requests)], InputError)

    def _steps(self) -> int:
        """Return the steps of all trainings that the mirror has."""

        def look() -> int:
            store, prefix = open_store(str(self.job.config.state.mirror))
            listed = [store.list(f"{prefix}{training}") for training in self.job.trainings]
            places = [[parse_name(name_of(each)) for each in found if MANIFESTS in each.key] for found in listed]
            return sum(max((place[0] for place in found if place is not None), default=0) for found in places)

        return self._patiently(look, InputError)

    def _patiently(self, ask: Callable[[], Result], silence: type[TucanoError] = Unreachable) -> Result:
        """Return an answer, asked for again for as long as a network may be away; `silence` is the error of none."""
        silent_since, pause = None, SECONDS_BETWEEN_LOOKS / 8
        while True:
            try:
                answer = ask()
            except silence as error:
                now = time.monotonic()
                if silent_since is None:
                    silent_since = now
                    minutes = SECONDS_OF_SILENCE / 60
                    warn(f"{error}; the job goes on, and is asked for again for {minutes:.0f} minutes", "job")
                if now - silent_since > SECONDS_OF_SILENCE:
                    raise Interrupted(f"{error}; the job goes on: run the same command again to find it") from None
                time.sleep(pause)
                pause = min(2 * pause, MAX_PAUSE)
            except InputError as error:
                if not self.is_paid:
                    raise
                raise Interrupted(f"{error}; the job goes on meanwhile: then run the same command again") from None
            else:
                if silent_since is not None:
                    say(f"job: {self.service.place} answers again")
                return answer
