"""Simulated services: Google behind one server, a `sky` program, and a job whose work is two tiny files."""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests

from flows.l4.google import Google
from flows.l4.job import Job, claimed, post
from flows.l4.service import Service
from flows.l4.vertex import LABEL, Vertex
from flows.l4.waiting import Waiting
from flows.stages.remote import Exchange, RemoteRequest
from schemas.config.config import Config
from schemas.config.profiles import load_config
from tasks.checkpoints.shared_artifacts import SharedArtifacts
from tasks.lineage.store.artifacts import ArtifactStore
from tests.answering_server import Reply
from tests.small_pipeline import PROFILE
from tests.tasks.lineage.made import commit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
STOCK_OUT = {"code": 8, "message": "Resources are insufficient in region: europe-west4. Please try a different region"}
UNDER_WAY = {"JOB_STATE_PENDING", "JOB_STATE_RUNNING", "JOB_STATE_CANCELLING"}
Looks = Sequence[str | dict[str, Any]]
"""What a job is at each look: a state, or the error of one that failed; the last one stays."""


@dataclass
class Rented:
    """A job for two seeds, the store that both machines reach, and this machine's own."""

    folder: Path
    config: Config = field(init=False)
    job: Job = field(init=False)
    exchange: Exchange = field(init=False)

    def __post_init__(self) -> None:
        places = [f"state.{name}={self.folder / name}" for name in ("root", "mirror", "artifacts")]
        self.config = load_config(str(PROFILE), places)
        named: dict[str, Any] = {"what": "training", "function": "train", "pipeline_run": ""}
        asked = [
            RemoteRequest(
                **named, stage=f"train-seed{seed}", call={"seed": seed}, artifacts={}, stage_key=f"key {seed}"
            )
            for seed in (7, 8)
        ]
        self.job = Job(config=self.config, requests=tuple(asked), trainings=("train-a", "train-b"))
        shared, own = SharedArtifacts(str(self.config.state.artifacts)), ArtifactStore(self.folder / "here")
        self.exchange = Exchange(shared, own)

    def finish(self) -> None:
        """Leave each policy as the job does."""
        there = ArtifactStore(self.folder / "there")
        for request in self.job.requests:
            policy = commit(there, "policy", {"adapter": request.stage.encode()}, {"dataset": "d" * 64})
            self.exchange.shared.push(policy, there.path(policy.sha256))
            self.exchange.shared.leave(request.note, policy.sha256.encode())

    def save(self, step: int) -> None:
        """Leave a checkpoint's manifest of a step in the mirror, as far as its name goes."""
        manifest = Path(str(self.config.state.mirror)) / "train-a" / "manifests" / f"{step:08d}-00000001.json"
        manifest.parent.mkdir(parents=True, exist_ok=True)
        manifest.write_text("{}")

    @property
    def fetched(self) -> list[bytes]:
        """The policies that are here."""
        return sorted(path.read_bytes() for path in (self.folder / "here").glob("policy/*/content/adapter"))

    def wait(self, service: Service) -> list[str]:
        """Wait for the job as the command does, and end what is left."""
        with claimed(self.job, str(self.config.state.artifacts)) as lease:
            post(self.job, self.exchange)
            waiting = Waiting(self.job, service, self.exchange, lease)
            waiting.until_done()
            return waiting.end()


@dataclass
class Cloud:
    """Google, as far as a job needs it: it counts machines at once, which are to be one at most."""

    done: Callable[[], None] = lambda: None
    looks: list[Looks] = field(
        default_factory=lambda: [["JOB_STATE_PENDING", "JOB_STATE_RUNNING", "JOB_STATE_SUCCEEDED"]]
    )
    """What each job in turn is at each look."""
    location: str = "EUROPE-WEST4"
    tags: tuple[str, ...] = (COMMIT,)
    faults: list[int | None] = field(default_factory=list)
    """Statuses of the next answers; 0 is a page of a proxy, -1 one after the request was carried out, None no fault."""
    limits: dict[str, str] = field(default_factory=lambda: {"every": "1"})
    """Quota for Spot by region, `every` for all without one of their own; where it has none, a job is refused, too."""
    seen: Callable[[dict[str, Any]], None] = lambda _: None
    """Is told of a job whenever it is looked at."""
    jobs: list[dict[str, Any]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    most_at_once: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def play(self, method: str, path: str, _: object, body: bytes) -> Reply:
        with self._lock:
            asked = urlsplit(path)
            self.requests.append(f"{method} {asked.path}")
            fault = self.faults.pop(0) if self.faults else None
            if not self.limits and method == "POST":
                fault = 429
            if fault is not None and fault > 0:
                said = "wait a little" if self.limits else "quota metrics exceed quota limits"
                return Reply(json.dumps({"error": {"message": said}}).encode(), fault)
            answer = self._answer(method, asked.path, asked.query, body) if fault != 0 else None
            self.most_at_once = max(self.most_at_once, sum(job["state"] in UNDER_WAY for job in self.jobs))
            if fault is not None:
                return Reply(b"<html>", 200)
            status = 200 if answer is not None else 404
            return Reply(
                json.dumps(answer if answer is not None else {"error": {"message": "not found"}}).encode(), status
            )

    def _answer(self, method: str, path: str, query: str, body: bytes) -> Any:
        if "/v2/" in path:
            return {} if path.rpartition("/")[2] in self.tags else None
        buckets = [
            # A limit of 0 is left out, as protobuf's JSON leaves it.
            ({"effectiveLimit": limit} if limit != "0" else {})
            | ({} if place == "every" else {"dimensions": {"region": place}})
            for place, limit in (self.limits if "preemptible" in path else {"every": "1"}).items()
        ]
        known: dict[str, Any] = {"/consumerQuotaMetrics/": {"consumerQuotaLimits": [{"quotaBuckets": buckets}]}}
        known |= {"/storage/": {"location": self.location}}
        if found := next((each for part, each in known.items() if part in path), None):
            return found
        name = path.partition("/v1/")[2]
        if method == "POST" and name.endswith(":cancel"):
            self._job(name.removesuffix(":cancel")).update(state="JOB_STATE_CANCELLING", looks=["JOB_STATE_CANCELLED"])
            return {}
        if method == "POST":
            number = len(self.jobs)
            looks = list(self.looks[min(number, len(self.looks) - 1)])
            job = {**json.loads(body), "name": f"{name}/{number}", "createTime": f"{number:04d}", "looks": looks}
            self.jobs.append(job | {"state": "JOB_STATE_PENDING"})
            return self.jobs[-1]
        if name.endswith("customJobs"):
            label = parse_qs(query)["filter"][0].partition("=")[2]
            return {"customJobs": [job for job in self.jobs if name in job["name"] and job["labels"][LABEL] == label]}
        job = self._job(name)
        if job["state"] in UNDER_WAY:
            look = job["looks"].pop(0) if len(job["looks"]) > 1 else job["looks"][0]
            job |= {"state": look} if isinstance(look, str) else {"state": "JOB_STATE_FAILED", "error": look}
            if job["state"] == "JOB_STATE_RUNNING":
                job["startTime"] = "now"
            if job["state"] == "JOB_STATE_SUCCEEDED":
                self.done()
        self.seen(job)
        return job

    def _job(self, name: str) -> dict[str, Any]:
        return next(job for job in self.jobs if job["name"] == name)

    @property
    def left(self) -> list[str]:
        """Names of the jobs that are paid."""
        return [job["name"] for job in self.jobs if job["state"] in UNDER_WAY]


class Rerouted(requests.Session):
    """A session whose every host is behind one server."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    def request(self, method: str, url: str | bytes, *given: Any, **named: Any) -> requests.Response:
        return super().request(method, str(url).replace("https://", f"{self._url}/", 1), *given, **named)


def vertex(url: str, *regions: str, **named: Any) -> Vertex:
    named = {"image": f"europe-west4-docker.pkg.dev/shop/tucano/worker-l4:{COMMIT}", **named}
    return Vertex(Google("shop", Rerouted(url)), "gs://loja/artifacts", regions or ("europe-west4",), **named)


SKY = """#!{python}
import json, os, sys
world = json.load(open({file!r}))
world["calls"].append(sys.argv[1:])
rows, words = world["rows"], sys.argv[1:]
if words[0] == "check":
    print(json.dumps({{"default": {{"GCP": ["compute"]}}}}))
elif words[1] == "launch":
    rows.append({{"job_id": len(rows) + 1, "job_name": words[words.index("--name") + 1], "status": "PENDING"}})
elif words[1] == "cancel":
    for row in rows:
        if str(row["job_id"]) in words:
            row["status"] = "CANCELLED"
elif world["fails"]:
    world["fails"] -= 1
    json.dump(world, open({file!r}, "w"))
    sys.exit("the API server does not answer")
else:
    ended = {{"SUCCEEDED", "FAILED", "CANCELLED", "FAILED_NO_RESOURCE"}}
    for row in rows:
        if row["job_name"] != "another" and row["status"] not in ended and world["statuses"]:
            row["status"] = world["statuses"].pop(0)
    print(json.dumps(rows))
json.dump(world, open({file!r}, "w"))
"""
"""SkyPilot's program, whose jobs are in a file."""


@dataclass
class Sky:
    """A `sky` on the path of a folder, and what it was called with."""

    folder: Path
    statuses: Sequence[str] = ()
    """What its queue says of the newest job, look by look."""

    def install(self, python: str) -> None:
        self._write({"calls": [], "rows": [], "statuses": list(self.statuses), "fails": 0})
        program = self.folder / "sky"
        program.write_text(SKY.format(python=python, file=str(self._file)))
        program.chmod(0o755)

    @property
    def _file(self) -> Path:
        return self.folder / "sky.json"

    def _write(self, world: dict[str, Any]) -> None:
        self._file.write_text(json.dumps(world))

    def change(self, **named: Any) -> None:
        self._write(json.loads(self._file.read_text()) | named)

    @property
    def calls(self) -> list[list[str]]:
        return list(json.loads(self._file.read_text())["calls"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        return list(json.loads(self._file.read_text())["rows"])
