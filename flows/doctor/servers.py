"""Checks of servers and stores: reachable, credentials and rights sufficient, version as used here."""

import base64
import os
import re
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Final

from packaging.version import Version
from pydantic import BaseModel, TypeAdapter, ValidationError

from flows.doctor.finding import (
    CheckOutcome,
    ClockReading,
    Finding,
    Response,
    Unreachable,
    ask,
    refused,
    single,
    unused,
)
from flows.runtime.prefect_server import KEYS, prove_prefect_usable, shown
from flows.runtime.session import mirror_address, mlflow_store, prefect_folder, running_server
from schemas.config.config import Config
from schemas.errors import InputError
from tasks.checkpoints.permissions import RIGHTS, probe_address
from tasks.lineage.mlflow.client import SQLITE_PREFIX, local_rows

PREFECT: Final = "Prefect"
MLFLOW: Final = "MLflow"
MOST_READ: Final = 200
"""Deployments, and pools, in one response of Prefect's server."""
_VERSION: Final = re.compile(r'"?(\d+\.\d+[\w.+-]*)"?')


class _Deployment(BaseModel):
    name: str
    work_pool_name: str | None = None


class _Pool(BaseModel):
    name: str
    status: str | None = None


_DEPLOYMENTS: Final = TypeAdapter(list[_Deployment])
_POOLS: Final = TypeAdapter(list[_Pool])


class _Refused(Exception):
    """A server that lets this machine read one thing refused another."""


def check_prefect(config: Config) -> CheckOutcome:
    """Check the server that runs go to: reachable, credentials, version, and workers for its deployments.

    Raises:
        TucanoError: A run's own server could not use its database.
    """
    address = os.environ.get("PREFECT_API_URL") or running_server(config.state.root)
    remote = config.workers.training
    if address is None:
        if remote is None:
            prove_prefect_usable(prefect_folder(config.state.root))
            return unused(PREFECT, "PREFECT_API_URL is not set: a run starts a server of its own")
        remedy = "export PREFECT_API_URL=http://SERVER:4200/api"
        return single(PREFECT, "fault", f"PREFECT_API_URL is not set, and training runs on {remote}", remedy)
    address, headers = address.rstrip("/"), _prefect_headers()
    try:
        answer = ask("Prefect's server", f"{address}/admin/version", headers=headers)
    except Unreachable as error:
        remedy = "start it, or correct or unset PREFECT_API_URL"
        return single(PREFECT, "fault", f"no server answers at {shown(address)} ({error})", remedy)
    if answer.refuses_credentials:
        given = "refuses the credentials" if headers else "asks for credentials"
        found = f"{shown(address)} {given} (HTTP {answer.status})"
        return single(PREFECT, "fault", found, f"set {KEYS}", *answer.clocks)
    findings = [_version_finding(PREFECT, "prefect", address, answer)]
    if findings[0].verdict != "fault":
        findings += _work(address, headers, config)
    return CheckOutcome(tuple(findings), answer.clocks)


def check_mlflow(config: Config) -> CheckOutcome:
    """Check MLflow's server, or the SQLite store.

    Raises:
        TucanoError: The store cannot be used.
    """
    address, artifacts = mlflow_store(config.state)
    if artifacts is not None:
        return CheckOutcome((_sqlite(address),))
    try:
        answer, read = _ask_mlflow(address.rstrip("/"))
    except Unreachable as error:
        found, remedy = f"no server answers at {address} ({error})", "start it, or correct state.mlflow"
        return single(MLFLOW, "fault", found, remedy)
    if read.refuses_credentials:
        asks = read.status == 401 and not _mlflow_credentials() and not _token()
        given = "asks for credentials" if asks else "refuses this machine"
        remedy = (
            "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD; where they are right, name the host in the "
            "server's --allowed-hosts"
        )
        return single(MLFLOW, "fault", f"{address} {given} (HTTP {read.status})", remedy, *read.clocks)
    finding = _version_finding(MLFLOW, "mlflow", address, answer)
    if finding.verdict != "fault" and read.status != 200:
        remedy = "look into the server's log"
        return single(MLFLOW, "fault", f"{address} gives no experiments (HTTP {read.status})", remedy, *read.clocks)
    return CheckOutcome((finding,), read.clocks)


def _work(address: str, headers: dict[str, str], config: Config) -> list[Finding]:
    """Report the deployments, and those of their pools that have no worker."""
    try:
        deployments = _DEPLOYMENTS.validate_json(_read_all(address, "deployments", headers))
        pools = _POOLS.validate_json(_read_all(address, "work_pools", headers))
        given = {"training": config.workers.training, "inference": config.workers.for_inference}
        findings = [_deployed(address, headers, name, worker) for name, worker in given.items() if worker is not None]
    except (_Refused, Unreachable, ValidationError) as error:
        reason = "its answer is not Prefect's" if isinstance(error, ValidationError) else str(error)
        remedy = "give the account the right to read them, and see `tucano infra check`"
        return [Finding("deployments", "warning", f"they cannot be read ({reason})", remedy)]
    if not deployments:
        if not findings:
            findings.append(Finding("deployments", "ok", "the server has none; `tucano infra apply` makes them"))
        return findings
    used = sorted({deployment.work_pool_name for deployment in deployments if deployment.work_pool_name})
    named = ", ".join(sorted(deployment.name for deployment in deployments))
    findings.append(Finding("deployments", "ok", f"{named}; pools: {', '.join(used) or 'none'}"))
    status = {pool.name: pool.status for pool in pools}
    for name in used:
        if status.get(name) == "NOT_READY":
            remedy = f"`prefect worker start --pool {name}`; a Spot pool has one only while there is work"
            findings.append(Finding("work pool", "warning", f"{name} has no worker online", remedy))
        elif status.get(name) == "PAUSED":
            remedy = f"`prefect work-pool resume {name}`"
            findings.append(Finding("work pool", "warning", f"{name} is paused", remedy))
    return findings


def _deployed(address: str, headers: dict[str, str], name: str, deployment: str) -> Finding:
    answer = ask(PREFECT, f"{address}/deployments/name/{deployment}", headers=headers)
    if answer.status == 404:
        remedy = f"run `tucano infra apply`, or correct workers.{name}"
        return Finding(name, "fault", f"the server has no deployment {deployment}, for the {name}", remedy)
    if answer.status != 200:
        raise _Refused(f"HTTP {answer.status}")
    return Finding(name, "ok", f"runs on the deployment {deployment}")


def _read_all(address: str, what: str, headers: dict[str, str]) -> str:
    answer = ask(PREFECT, f"{address}/{what}/filter", method="POST", headers=headers, body={"limit": MOST_READ})
    if answer.status != 200:
        raise _Refused(f"HTTP {answer.status}")
    return answer.text


def _ask_mlflow(address: str) -> tuple[Response, Response]:
    """Return the server's responses to a request for its version and to one for experiments.

    A server without users gives its version to everybody, and all else only under host names that it knows.
    """
    headers, credentials = _token(), _mlflow_credentials()
    answer = ask(MLFLOW, f"{address}/version", headers=headers, credentials=credentials)
    if answer.status != 200:
        return answer, answer
    search, body = f"{address}/api/2.0/mlflow/experiments/search", {"max_results": 1}
    return answer, ask(MLFLOW, search, method="POST", headers=headers, credentials=credentials, body=body)


def _version_finding(name: str, package: str, address: str, answer: Response) -> Finding:
    said = _VERSION.fullmatch(answer.text.strip())
    if answer.status != 200 or said is None:
        found = f"what answers at {shown(address)} is no {name} server (HTTP {answer.status})"
        return Finding(name, "fault", found, "correct the address")
    here, there = Version(version(package)), Version(said[1])
    found = f"{there} at {shown(address)}"
    if (there.major, there.minor) == (here.major, here.minor):
        return Finding(name, "ok", found)
    remedy = f"run {name} {here} there, as the constraints pin it"
    return Finding(name, "warning", f"{found}, and {here} here", remedy)


def _sqlite(address: str) -> Finding:
    found = local_rows(address, "SELECT count(*) FROM runs")
    file = address.removeprefix(SQLITE_PREFIX)
    return Finding(MLFLOW, "ok", f"{found[0][0]} runs in {file}" if found else f"the first run makes {file}")


def _prefect_headers() -> dict[str, str]:
    """Return the headers of Prefect's own client: user and password take precedence over the key."""
    if user_and_password := os.environ.get("PREFECT_API_AUTH_STRING"):
        return {"Authorization": f"Basic {base64.b64encode(user_and_password.encode()).decode()}"}
    if key := os.environ.get("PREFECT_API_KEY"):
        return {"Authorization": f"Bearer {key}"}
    return {}


def _mlflow_credentials() -> tuple[str, str] | None:
    user, password = os.environ.get("MLFLOW_TRACKING_USERNAME"), os.environ.get("MLFLOW_TRACKING_PASSWORD")
    return (user, password) if user and password else None


def _token() -> dict[str, str]:
    token = os.environ.get("MLFLOW_TRACKING_TOKEN")
    return {"Authorization": f"Bearer {token}"} if token and not _mlflow_credentials() else {}


def check_mirror(config: Config) -> CheckOutcome:
    """Try the store of checkpoints."""
    return _try("mirror", mirror_address(config))


def check_artifacts(config: Config) -> CheckOutcome:
    """Try the store through which machines share artifacts."""
    if config.state.artifacts is None:
        return unused("artifacts", "state.artifacts is not set: they stay on this machine")
    return _try("artifacts", config.state.artifacts)


def _try(check: str, address: str) -> CheckOutcome:
    started = datetime.now(UTC)
    try:
        probed = probe_address(address)
    except InputError as error:
        return CheckOutcome((refused(check, f"{address}: {error}"),))
    findings = [refused(f"{check}: {right}", sentence) for right, sentence in probed.refusals.items()]
    if probed.left is not None:
        findings.append(Finding(check, "warning", f"the doctor's {probed.left} stays in {address}", "delete it"))
    if not findings:
        findings.append(Finding(check, "ok", f"{', '.join(RIGHTS)} in {address}"))
    ahead = None if probed.clock is None else _ahead(probed.clock, started)
    return CheckOutcome(tuple(findings), () if ahead is None else (ClockReading(address, ahead),))


def _ahead(clock: datetime, started: datetime) -> float:
    """Return how far ahead a clock is that was read between `started` and now; 0 where it may be right."""
    if clock < started:
        return (clock - started).total_seconds()
    return max(0.0, (clock - datetime.now(UTC)).total_seconds())
