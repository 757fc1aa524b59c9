"""The job as a custom job of Vertex AI: a machine for as long as it works, and no bill when it does not.

A region is asked for as a whole, so that a stock-out of one is one of all its zones; then the next region is tried.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from flows.l4.checks import commit_of_code, require_tag
from flows.l4.google import Google, Missing
from flows.l4.quotas import l4_quotas, require_quotas
from flows.l4.service import UNDER_WAY, Machines, Run, State, command
from flows.runtime.console import warn
from schemas.errors import InputError
from schemas.source import REPOSITORY

LABEL: Final = "tucano_job"
STRATEGIES: Final[dict[Machines, str]] = {"spot": "SPOT", "flex-start": "FLEX_START", "on-demand": "STANDARD"}
STATES: Final[dict[str, State]] = {
    "JOB_STATE_QUEUED": "waiting",
    "JOB_STATE_PENDING": "waiting",
    "JOB_STATE_RUNNING": "running",
    "JOB_STATE_UPDATING": "running",
    "JOB_STATE_CANCELLING": "running",
    "JOB_STATE_PAUSED": "waiting",
    "JOB_STATE_SUCCEEDED": "done",
    "JOB_STATE_PARTIALLY_SUCCEEDED": "done",
    "JOB_STATE_CANCELLED": "stopped",
    "JOB_STATE_FAILED": "failed",
    "JOB_STATE_EXPIRED": "preempted",
}
SECONDS_AT_MOST: Final = 7 * 24 * 3600
"""Vertex AI ends a job after that; the same command starts it again from its newest checkpoint."""
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


class Vertex:
    """A `Service` of the regions, the first of them first."""

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
        self.patience = patience
        self._google, self._artifacts, self._regions = google, artifacts, tuple(regions)
        self._named_image, self._account, self._machines, self._place = image, account, machines, 0

    @property
    def place(self) -> str:
        """Vertex AI in the region that is asked now."""
        return f"Vertex AI in {self._regions[self._place]}"

    @cached_property
    def _image(self) -> str:
        commit = commit_of_code()
        own = f"{self._regions[0]}-docker.pkg.dev/{self._google.named_project}/tucano/worker-l4:{commit}"
        image = self._named_image or own
        require_tag(image, commit)
        return image

    def check(self) -> None:
        """Refuse an image of other code or one that is not there, a bucket in another region, and a missing quota."""
        # Named first, for the image is named by it.
        project = self._google.project
        host, _, path = self._image.partition("/")
        name, _, tag = path.rpartition(":")
        if host.endswith("pkg.dev"):
            try:
                manifest = f"https://{host}/v2/{name}/manifests/{quote(tag)}"
                self._google.ask("GET", manifest, headers={"Accept": MANIFEST_TYPES})
            except Missing:
                raise InputError(
                    f"the registry has no image {self._image}; build it from this commit, as infra/README.md says"
                ) from None
        self._check_bucket()
        try:
            ask = partial(self._google.ask, "GET")
            quotas = l4_quotas(project, self._regions[0], ask, on="vertex", on_demand=self._machines == "on-demand")
        except InputError as error:
            warn(f"the quotas are not known ({error})")
        else:
            require_quotas(quotas)

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

    def describe(self, job_id: str) -> Iterator[str]:
        """Yield each request, with the job's whole description."""
        jobs = self._jobs(self._regions[0], self._google.named_project)
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
        found: list[tuple[str, Run]] = []
        for region in self._regions:
            page = f"{self._jobs(region)}?filter={quote(f'labels.{LABEL}={job_id}')}"
            token = ""
            while True:
                answer = self._google.ask("GET", page + (f"&pageToken={quote(token)}" if token else ""))
                found += [(job["createTime"], _run(job)) for job in answer.get("customJobs", ())]
                token = answer.get("nextPageToken", "")
                if not token:
                    break
        return [run for _, run in sorted(found, key=lambda each: each[0]) if run.state in UNDER_WAY]

    def start(self, job_id: str) -> Run:
        """Create the job in the region that is asked now."""
        return _run(self._google.ask("POST", self._jobs(self._regions[self._place]), self._description(job_id)))

    def look(self, run: Run) -> Run:
        """Ask for it."""
        try:
            return _run(self._google.ask("GET", _url(run.name)))
        except Missing:
            return Run(run.name, "stopped", "it was deleted")

    def stop(self, run: Run) -> None:
        """Cancel it; its machine goes soon after."""
        self._google.ask("POST", f"{_url(run.name)}:cancel", {})

    def next_place(self) -> bool:
        """Turn to the next region."""
        self._place = (self._place + 1) % len(self._regions)
        return self._place > 0

    def log_of(self, run: Run) -> str:
        """Return the page of its log, and the command that ends it."""
        _, project, _, region, _, number = run.name.split("/")
        page = f"https://console.cloud.google.com/vertex-ai/locations/{region}/training/{number}?project={project}"
        return f"log: {page}; to end it: `gcloud ai custom-jobs cancel {number} --region {region}`"

    def _jobs(self, region: str, project: str | None = None) -> str:
        return _url(f"projects/{project or self._google.project}/locations/{region}/customJobs")

    def _description(self, job_id: str) -> dict[str, Any]:
        """Return the job as Vertex AI takes it, on the machine of infra/pools/vertex.json."""
        pool = json.loads((REPOSITORY / "infra" / "pools" / "vertex.json").read_text(encoding="utf-8"))
        machine = {name: each.get("default") for name, each in pool["variables"]["properties"].items()}
        # The whole job is restarted where its machine is taken: it resumes from the mirror.
        scheduling: dict[str, Any] = {
            "strategy": STRATEGIES[self._machines],
            "timeout": f"{SECONDS_AT_MOST}s",
            "restartJobOnWorkerRestart": True,
        }
        if self._machines == "flex-start":
            scheduling["maxWaitDuration"] = f"{self.patience:.0f}s"
        container = {"imageUri": self._image, "command": command("python", self._artifacts, job_id, self.folder)}
        disk = {"bootDiskType": machine["boot_disk_type"], "bootDiskSizeGb": machine["boot_disk_size_gb"]}
        card = {"acceleratorType": machine["accelerator_type"], "acceleratorCount": machine["accelerator_count"]}
        worker = {
            "machineSpec": {"machineType": machine["machine_type"], **card},
            "replicaCount": 1,
            "diskSpec": disk,
            "containerSpec": container,
        }
        account = {"serviceAccount": self._account} if self._account else {}
        spec = {"workerPoolSpecs": [worker], "scheduling": scheduling, **account}
        return {"displayName": f"tucano-{job_id}", "labels": {LABEL: job_id}, "jobSpec": spec}


def _url(name: str) -> str:
    return f"https://{name.split('/')[3]}-aiplatform.googleapis.com/v1/{name}"


def _run(job: dict[str, Any]) -> Run:
    """Return a run of what Vertex AI says of a job."""
    state, error = STATES.get(job.get("state", ""), "waiting"), job.get("error") or {}
    why = str(error.get("message", "")).partition("\n")[0]
    if state == "failed" and TAKEN.search(why):
        state = "preempted"
    elif state == "failed" and (error.get("code") == EXHAUSTED or NO_MACHINE.search(why)):
        # Its words are the same for a machine that was taken and not given again.
        state = "preempted" if job.get("startTime") else "no machine"
    return Run(job["name"], state, why)
