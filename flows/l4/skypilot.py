"""The job as a managed job of SkyPilot, which tries zones, regions and clouds in turn and brings back what was taken.

Its program `sky` is called, so that neither its packages nor those of a cloud are needed here. The job is a wheel of
this code with the constraints of both environments.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any, Final

from flows.l4.checks import IN_A_WHEEL, check_wheel
from flows.l4.service import UNDER_WAY, Machines, Run, Service, State, Unreachable, command
from schemas.errors import InputError, Interrupted

STATES: Final[Mapping[str, State]] = {
    "PENDING": "waiting",
    "DEPRECATED_SUBMITTED": "waiting",
    "SUBMITTED": "waiting",
    "STARTING": "waiting",
    "RECOVERING": "waiting",
    "RUNNING": "running",
    "CANCELLING": "running",
    "SUCCEEDED": "done",
    "CANCELLED": "stopped",
    "FAILED_NO_RESOURCE": "no machine",
}
"""All others are failures."""
SECONDS_TO_ANSWER: Final = 600.0
"""The first call of a day starts SkyPilot's own server and controller."""
TASK: Final = Path(__file__).with_name("skypilot.yaml")


class SkyPilot(Service):
    """Every place that SkyPilot may use."""

    place = "SkyPilot"
    folder = Path("/tmp/tucano")  # noqa: S108 - the machine is the job's own, and goes with it
    interpreter = Path("/opt/tucano/trainer/bin/python")

    def __init__(
        self, artifacts: str, places: Sequence[str], task: Path, *, wheel: Path | None, machines: Machines = "spot"
    ) -> None:
        """Use places as SkyPilot writes them, such as `gcp/europe-west4`, and a file for the task."""
        self._artifacts, self._places, self._task = artifacts, places, task
        self._wheel, self._machines = wheel, machines

    def check(self) -> None:
        """Refuse a wheel of other code, and a `sky` that has no cloud."""
        if self._machines == "flex-start":
            raise InputError("SkyPilot knows no --machines flex-start; use spot or on-demand")
        if self._wheel is None:
            raise InputError("SkyPilot's job runs a wheel of this code; build it with `pip wheel --no-deps .`: --wheel")
        check_wheel(self._wheel)
        if not json.loads(self._sky("check", "--output", "json") or "{}"):
            raise InputError("SkyPilot has no cloud that it may use; run `sky check`, and do as it says")

    def describe(self, job_id: str) -> Iterator[str]:
        """Yield each command, and the file of the task."""
        yield "sky check --output json"
        yield f"{self._task}:"
        yield self._text(job_id)
        yield "sky jobs queue --all --refresh --output json"
        yield " ".join(["sky", *self._launch(job_id)])
        yield "sky jobs cancel --yes NUMBER, where it has not ended"

    def find(self, job_id: str) -> list[Run]:
        """Return the runs of that name."""
        return [run for run in self._queue(_name(job_id)) if run.state in UNDER_WAY]

    def start(self, job_id: str) -> Run:
        """Launch it, and return it as the queue has it."""
        self._task.parent.mkdir(parents=True, exist_ok=True)
        self._task.write_text(self._text(job_id), encoding="utf-8")
        self._sky(*self._launch(job_id))
        runs = self._queue(_name(job_id))
        if not runs:
            raise Unreachable("SkyPilot's queue does not have the job that it launched")
        return runs[-1]

    def look(self, run: Run) -> Run:
        """Find it in the queue."""
        for each in self._queue(run.name.partition(" ")[0]):
            if each.name == run.name:
                return each
        raise Unreachable(f"SkyPilot's queue does not have {run.name}")

    def stop(self, run: Run) -> None:
        """Cancel it; its machine goes soon after."""
        self._sky("jobs", "cancel", "--yes", run.name.partition(" ")[2])

    def _launch(self, job_id: str) -> list[str]:
        return ["jobs", "launch", "--yes", "--detach-run", "--name", _name(job_id), str(self._task)]

    def _queue(self, name: str) -> list[Run]:
        """Return the runs of a name, the oldest first."""
        rows = json.loads(self._sky("jobs", "queue", "--all", "--refresh", "--output", "json") or "[]")
        named = [row for row in rows if row.get("job_name") == name]
        return [_run(name, row) for row in sorted(named, key=lambda row: int(row["job_id"]))]

    def _sky(self, *arguments: str) -> str:
        """Return what `sky` prints."""
        try:
            ended = subprocess.run(
                ["sky", *arguments], capture_output=True, text=True, check=False, timeout=SECONDS_TO_ANSWER
            )
        except FileNotFoundError:
            raise InputError("there is no program `sky`; install it apart: `uv tool install skypilot[gcp]`") from None
        except subprocess.TimeoutExpired:
            raise Unreachable(f"`sky {arguments[0]}` does not answer") from None
        if ended.returncode < 0:
            raise Interrupted(f"`sky {arguments[0]}` was ended by a signal; run the same command again")
        if ended.returncode:
            said = (ended.stderr or ended.stdout).strip().splitlines() or [f"exit code {ended.returncode}"]
            fails = f"`sky {' '.join(arguments[:2])}` fails: {said[-1]}"
            # A refused launch would be refused again; the command ends whatever was launched.
            raise InputError(f"{fails}; do as it says") if "launch" in arguments else Unreachable(fails)
        return ended.stdout

    def _text(self, job_id: str) -> str:
        """Return the task's file; its values are JSON, which YAML reads."""
        wheel = self._wheel.resolve() if self._wheel else Path("WHEEL")
        return Template(TASK.read_text(encoding="utf-8")).substitute(
            name=_name(job_id),
            use_spot=json.dumps(self._machines == "spot"),
            interrupted=Interrupted.exit_code,
            places=json.dumps([{"infra": place} for place in self._places]),
            wheel=f"~/wheel/{wheel.name}",
            local_wheel=json.dumps(str(wheel)),
            package=IN_A_WHEEL,
            run=" ".join(command("/opt/tucano/worker/bin/python", self._artifacts, job_id, self.folder)),
        )


def _name(job_id: str) -> str:
    return f"tucano-{job_id}"


def _run(name: str, row: Mapping[str, Any]) -> Run:
    number, status = row["job_id"], str(row.get("status", "")).rpartition(".")[2]
    why = str(row.get("failure_reason") or status).partition("\n")[0]
    log = f"log: `sky jobs logs {number}`; to end it: `sky jobs cancel {number}`"
    return Run(f"{name} {number}", STATES.get(status, "failed"), why, log)
