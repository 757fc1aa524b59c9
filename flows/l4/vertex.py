"""The job as a custom job of Vertex AI: a machine for as long as it works, and no bill when it does not.

A region is asked for as a whole, so that a stock-out of one is one of all its zones; then the next region is tried.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from string import Template
from typing import Any, Final
from urllib.parse import quote, urlencode

import yaml

from flows.l4.checks import commit_of_code, require_tag
from flows.l4.google import Google, Missing
from flows.l4.service import UNDER_WAY, Machines, Run, Service, State, command
from flows.runtime.console import warn
from schemas.errors import InputError
from schemas.source import REPOSITORY

LABEL: Final = "tucano_job"
STRATEGIES: Final[dict[Machines, str]] = {"spot": "SPOT", "flex-start": "FLEX_START", "on-demand": "STANDARD"}
STATES: Final[dict[str, State]] = {
    "JOB_STATE_RUNNING": "running",
    "JOB_STATE_UPDATING": "running",
    "JOB_STATE_CANCELLING": "running",
    "JOB_STATE_SUCCEEDED": "done",
    "JOB_STATE_PARTIALLY_SUCCEEDED": "done",
    "JOB_STATE_CANCELLED": "stopped",
    "JOB_STATE_FAILED": "failed",
    "JOB_STATE_EXPIRED": "preempted",
}
"""In all others it waits."""
JOB: Final = Path(__file__).with_name("vertex.yaml")
NO_MACHINE: Final = re.compile(
    r"stock.?out|insufficient|resource.{0,3}exhausted|do(es)? not have enough", re.IGNORECASE
)
TAKEN: Final = re.compile(r"preempt|status of (4|137|143)\b", re.IGNORECASE)
"""Vertex AI's words for a machine that went, and for a job that ended at a signal, by 4, or was killed."""
EXHAUSTED: Final = 8
"""Google's code of RESOURCE_EXHAUSTED."""
MULTI_REGIONS: Final = {"eu": "europe-", "eur": "europe-", "us": "us-", "nam": "us-", "asia": "asia-"}
MANIFEST_TYPES: Final = (
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json"
)
QUOTAS: Final = "https://serviceusage.googleapis.com/v1beta1/projects/{}/services/{}/consumerQuotaMetrics/{}"
VERTEX: Final = "aiplatform.googleapis.com"


class Vertex(Service):
    """Regions of Vertex AI, the first of them first."""

    folder = Path("/state")
    interpreter = Path("/opt/trainer/bin/python")

    def __init__(
        self,
        google: Google,
        artifacts: str,
        regions: Sequence[str],
        *,
        image: str | None = None,
        account: str | None = None,
        machines: Machines = "spot",
        patience: float = 3600.0,
    ) -> None:
        """Run an image, that of this code's commit in the first region's registry if none is named."""
        self.patience, self.place = patience, f"Vertex AI in {regions[0]}"
        self._google, self._artifacts, self._regions, self._tried = google, artifacts, tuple(regions), 0
        self._named_image, self._account, self._machines = image, account, machines

    @cached_property
    def _image(self) -> str:
        commit, registry = commit_of_code(), f"{self._regions[0]}-docker.pkg.dev/{self._google.project}"
        image = self._named_image or f"{registry}/tucano/worker-l4:{commit}"
        require_tag(image, commit)
        return image

    def check(self) -> None:
        """Refuse an image of other code or one that is not there, a bucket in another region, and a missing quota."""
        self._check_image()
        self._check_bucket()
        self._check_quota()

    def _check_image(self) -> None:
        host, _, path = self._image.partition("/")
        name, _, tag = path.rpartition(":")
        if not host.endswith("pkg.dev"):
            return
        try:
            manifest = f"https://{host}/v2/{name}/manifests/{quote(tag)}"
            self._google.ask("GET", manifest, headers={"Accept": MANIFEST_TYPES})
        except Missing:
            raise InputError(
                f"the registry has no image {self._image}; build it from this commit, as infra/README.md says"
            ) from None

    def _check_bucket(self) -> None:
        bucket, region = self._artifacts.removeprefix("gs://").partition("/")[0], self._regions[0]
        try:
            url = f"https://storage.googleapis.com/storage/v1/b/{quote(bucket)}?fields=location"
            location = str(self._google.ask("GET", url)["location"]).lower()
        except Missing:
            raise InputError(f"there is no bucket {bucket}; make it in {region}, or correct --bucket") from None
        except InputError as error:
            warn(f"it is not known where the bucket {bucket} is ({error})")
            return
        if location != region and not region.startswith(MULTI_REGIONS.get(location.rstrip("0123456789"), "nowhere")):
            raise InputError(
                f"the bucket {bucket} is in {location}, and the job in {region}; name a bucket in {region}, or "
                f"--region {location}"
            )

    def _check_quota(self) -> None:
        """Refuse a region that gives the project no L4: by its own limit, or by that of all regions without one."""
        # Spot and flex-start take from the same quota.
        kind, region = "" if self._machines == "on-demand" else "preemptible_", self._regions[0]
        metric = f"{VERTEX}/custom_model_training_{kind}nvidia_l4_gpus"
        try:
            found = self._google.ask("GET", QUOTAS.format(quote(self._google.project), VERTEX, quote(metric, safe="")))
        except InputError as error:
            warn(f"the quotas are not known ({error})")
            return
        limits = {
            bucket.get("dimensions", {}).get("region"): int(bucket.get("effectiveLimit", 0))
            for limit in found.get("consumerQuotaLimits", ())
            for bucket in limit.get("quotaBuckets", ())
        }
        if limits.get(region, limits.get(None, 0)) == 0:
            raise InputError(
                f"quota {metric} in {region} is 0; ask for 1 in the console under IAM & Admin, Quotas, a day or two "
                "before"
            )

    def describe(self, job_id: str) -> Iterator[str]:
        """Yield each request, with the job's whole description."""
        jobs = self._jobs(self._regions[0])
        yield f"GET {jobs}?filter=labels.{LABEL}={job_id}"
        yield f"POST {jobs}"
        try:
            yield json.dumps(self._description(job_id), indent=1)
        except InputError as error:
            yield f"would be refused: {error}"
        yield f"GET {jobs}/NUMBER, until it has ended"
        yield f"POST {jobs}/NUMBER:cancel, where it has not"
        minutes = self.patience / 60
        yield f"regions in turn, each for {minutes:.0f} minutes without a machine: {', '.join(self._regions)}"

    def find(self, job_id: str) -> list[Run]:
        """Return the job's runs in all regions."""
        jobs = [job for region in self._regions for job in self._jobs_of(region, job_id)]
        runs = map(_run, sorted(jobs, key=itemgetter("createTime")))
        return [run for run in runs if run.state in UNDER_WAY]

    def _jobs_of(self, region: str, job_id: str) -> Iterator[dict[str, Any]]:
        query = {"filter": f"labels.{LABEL}={job_id}"}
        while True:
            page = self._google.ask("GET", f"{self._jobs(region)}?{urlencode(query)}")
            yield from page.get("customJobs", ())
            if not (token := page.get("nextPageToken")):
                return
            query["pageToken"] = token

    def start(self, job_id: str) -> Run:
        """Create the job in the region that is asked now."""
        return _run(self._google.ask("POST", self._jobs(self._regions[self._tried]), self._description(job_id)))

    def look(self, run: Run) -> Run:
        """Ask for it."""
        try:
            return _run(self._google.ask("GET", _url(run.name)))
        except Missing:
            return replace(run, state="stopped", why="it was deleted")

    def stop(self, run: Run) -> None:
        """Cancel it; its machine goes soon after."""
        self._google.ask("POST", f"{_url(run.name)}:cancel", {})

    def next_place(self) -> bool:
        """Turn to the next region; after the last one the first."""
        self._tried = (self._tried + 1) % len(self._regions)
        self.place = f"Vertex AI in {self._regions[self._tried]}"
        return self._tried > 0

    def _jobs(self, region: str) -> str:
        return _url(f"projects/{self._google.project}/locations/{region}/customJobs")

    def _description(self, job_id: str) -> dict[str, Any]:
        """Return the job as Vertex AI takes it, on the machine of infra/pools/vertex.json."""
        pool = json.loads((REPOSITORY / "infra" / "pools" / "vertex.json").read_text(encoding="utf-8"))
        machine = {name: each.get("default") for name, each in pool["variables"]["properties"].items()}
        run = command("python", self._artifacts, job_id, self.folder)
        known = {**machine, "job": job_id, "label": LABEL, "image": self._image, "command": json.dumps(run)}
        template = Template(JOB.read_text(encoding="utf-8"))
        job: dict[str, Any] = yaml.safe_load(template.substitute(known, strategy=STRATEGIES[self._machines]))
        if self._machines == "flex-start":
            job["jobSpec"]["scheduling"]["maxWaitDuration"] = f"{self.patience:.0f}s"
        if self._account:
            job["jobSpec"]["serviceAccount"] = self._account
        return job


def _url(name: str) -> str:
    return f"https://{name.split('/')[3]}-{VERTEX}/v1/{name}"


def _run(job: dict[str, Any]) -> Run:
    """Return a run by Vertex AI's document of it."""
    name, state, error = job["name"], STATES.get(job.get("state", ""), "waiting"), job.get("error") or {}
    why = str(error.get("message", "")).partition("\n")[0]
    if state == "failed" and TAKEN.search(why):
        state = "preempted"
    elif state == "failed" and (error.get("code") == EXHAUSTED or NO_MACHINE.search(why)):
        # Its words are the same for a machine that was taken and not given again.
        state = "preempted" if job.get("startTime") else "no machine"
    _, project, _, region, _, number = name.split("/")
    page = f"https://console.cloud.google.com/vertex-ai/locations/{region}/training/{number}?project={project}"
    return Run(name, state, why, f"log: {page}; to end it: `gcloud ai custom-jobs cancel {number} --region {region}`")
