"""Checks for a run: of what the profile names, all at once, or before a run those whose fault would end it."""

import os
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Final

import httpx
from huggingface_hub import constants, get_token, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError

from flows.doctor import machine
from flows.doctor.machine import Check, Finding, refused
from flows.runtime.prefect_server import prove_prefect_usable, reachable, shown
from flows.runtime.session import mirror_address, mlflow_store, open_store, prefect_folder, running_server
from schemas.config.config import Config
from schemas.errors import InputError, TucanoError
from schemas.sqlite_file import SECONDS_TO_WAIT
from schemas.store.store import require_tables
from tasks.checkpoints.address import prove_usable
from tasks.lineage.mlflow.client import SQLITE_PREFIX, local_rows, open_client
from tasks.policy.published import given_template, shipped

SECONDS_TO_ANSWER: Final = 5.0
ZONE: Final = "http://metadata.google.internal/computeMetadata/v1/instance/zone"
OUTSIDE_THE_UNION: Final = ("europe-west2", "europe-west6")  # London and Zurich.
FILES: Final = (
    *("synthesize.olist_dir", "synthesize.files", "curate.known_to_base", "curate.references"),
    *("audit.sheet", "audit.rollouts", "audit.store", "monitor.logs"),
)
WEIGHTS: Final = ("model.safetensors", "model.safetensors.index.json")


def check_prefect(config: Config) -> list[Finding]:
    """Check the server that runs go to: reachable, credentials, and workers for its deployments."""
    address, check = os.environ.get("PREFECT_API_URL") or running_server(config.state.root), "Prefect"
    given = {"training": config.workers.training, "inference": config.workers.for_inference}
    if address is None:
        if config.workers.training is not None:
            found = f"PREFECT_API_URL is not set, and training runs on {config.workers.training}"
            return [Finding(check, "fault", found, "export PREFECT_API_URL=http://SERVER:4200/api")]
        prove_prefect_usable(prefect_folder(config.state.root))
        return [Finding(check, "ok", "PREFECT_API_URL is not set: a run starts a server of its own", unused=True)]
    if not reachable(address):
        found = f"no server answers at {shown(address)}"
        return [Finding(check, "fault", found, "start it, or correct or unset PREFECT_API_URL")]
    # Both take a second to import, which a machine without a server need not wait for.
    from prefect.exceptions import ObjectNotFound  # noqa: PLC0415

    from flows.runtime.prefect_client import connected, has_worker  # noqa: PLC0415

    with connected(address) as client:
        there = str(client.request("GET", "/admin/version").raise_for_status().json())
        findings = [Finding(check, "ok", f"{there} at {shown(address)}")]
        for name, deployment in given.items():
            if deployment is None:
                continue
            try:
                pool = client.read_deployment_by_name(deployment).work_pool_name
                if pool is None or has_worker(client, client.read_work_pool(pool)):
                    findings.append(Finding(name, "ok", f"runs on the deployment {deployment}"))
                else:
                    remedy = f"`prefect worker start --pool {pool}`; a Spot pool has one only while there is work"
                    findings.append(Finding(name, "warning", f"the pool {pool} has no worker online", remedy))
            except ObjectNotFound:
                remedy = f"run `tucano infra apply`, or correct workers.{name}"
                findings.append(Finding(name, "fault", f"the server has no deployment {deployment}", remedy))
    return findings


def check_mlflow(config: Config) -> list[Finding]:
    """Check MLflow's server, or the SQLite store."""
    address, local = mlflow_store(config.state)
    if local is not None:
        found = local_rows(address, "SELECT count(*) FROM runs")
        file = address.removeprefix(SQLITE_PREFIX)
        return [Finding("MLflow", "ok", f"{found[0][0]} runs in {file}" if found else f"the first run makes {file}")]
    # It asks the server with this machine's credentials.
    open_client(address)
    return [Finding("MLflow", "ok", f"{shown(address)} lets this machine in")]


def check_region(config: Config) -> list[Finding]:
    """Look where this machine of Google's is: customers' data may leave Brazil for the European Union."""
    zone = ""
    if (config.state.artifacts or "").startswith("gs://"):
        with suppress(httpx.HTTPError):
            answer = httpx.get(ZONE, headers={"Metadata-Flavor": "Google"}, timeout=1.0, trust_env=False)
            zone = answer.text.rpartition("/")[2]
    if not zone:
        return [Finding("region", "ok", "no bucket of this profile, or no machine of Google's", unused=True)]
    if zone.startswith(("southamerica-east1", "europe-")) and not zone.startswith(OUTSIDE_THE_UNION):
        return [Finding("region", "ok", f"{zone}: LGPD, article 33, I, permits it")]
    found = f"{zone} is neither in Brazil nor in the European Union, and LGPD, article 33, asks for another ground"
    return [Finding("region", "warning", found, "have machine and bucket in a region such as europe-west4")]


def try_store(check: str, address: str | None) -> list[Finding]:
    """Try the store of checkpoints, or the one through which machines share artifacts."""
    if address is None:
        return [Finding(check, "ok", f"state.{check} is not set: all stays on this machine", unused=True)]
    try:
        prove_usable(address)
    except InputError as error:
        return [refused(check, f"{address}: {error}")]
    return [Finding(check, "ok", f"create, precondition, read, list, delete in {address}")]


def check_files(config: Config) -> list[Finding]:
    """Look for each file and folder that the profile names."""
    named: dict[str, Path] = {name: path for name in FILES if (path := attrgetter(name)(config)) is not None}
    if config.curate.general is not None and config.curate.general.path is not None:
        named["curate.general.path"] = config.curate.general.path
    findings: list[Finding] = []
    for name, path in named.items():
        if not path.exists():
            missing = refused("files", f"{name} {path} is not there; put it there, or correct {name}")
            # Training does not read production logs.
            findings.append(replace(missing, verdict="warning") if name == "monitor.logs" else missing)
    if (olist := config.synthesize.olist_dir) is not None and olist.exists():
        try:
            require_tables(olist)
        except InputError as error:
            findings.append(refused("files", error))
    all_there = f"{', '.join(named)}: there" if named else "none is named"
    return findings or [Finding("files", "ok", all_there, unused=not named)]


def check_model(config: Config) -> list[Finding]:
    """Look for the base model: the stand-in, a folder, the hub's cache on this machine, or the hub."""
    name, check = config.policy.name, "model"
    if config.policy.stand_in:
        shipped()
        return [Finding(check, "ok", "the shipped stand-in, whose files are those of its card")]
    if (folder := Path(name)).is_dir():
        from tasks.train.preflight.inputs import read_fit_tokenizer  # noqa: PLC0415 - polars

        read_fit_tokenizer(config.policy, given_template(config.policy))
        if not any((folder / file).exists() for file in WEIGHTS):
            return [Finding(check, "fault", f"{folder} lacks {WEIGHTS[0]}", "download the whole model into it")]
        return [Finding(check, "ok", f"{folder}, whose tokenizer is fit")]
    revision = config.policy.revision
    try:
        if any(isinstance(try_to_load_from_cache(name, file, revision=revision), str) for file in WEIGHTS):
            return [Finding(check, "ok", f"{name}, downloaded already")]
    except HFValidationError:
        found = f"policy.name {name!r} is neither a folder nor a hub name"
        return [Finding(check, "fault", found, "correct policy.name; the profile real's is made by `make real-model`")]
    return [_on_the_hub(name, revision or "main")]


def _on_the_hub(name: str, revision: str) -> Finding:
    check = "model"
    remedy = "reach the hub once, set HF_ENDPOINT to a mirror of it, or set policy.name to the folder of a download"
    if constants.HF_HUB_OFFLINE:
        return Finding(check, "fault", f"{name} is not downloaded, and HF_HUB_OFFLINE is set", remedy)
    address = f"{constants.ENDPOINT}/{name}/resolve/{revision}/config.json"
    headers = {"Authorization": f"Bearer {token}"} if (token := get_token()) else {}
    try:
        status = httpx.get(address, headers=headers, timeout=SECONDS_TO_ANSWER, follow_redirects=True).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        found = f"{name} is not downloaded, and {constants.ENDPOINT} does not answer ({error})"
        return Finding(check, "fault", found, remedy)
    if status != httpx.codes.OK:
        found = f"{constants.ENDPOINT} does not give {name} at {revision} (HTTP {status})"
        remedy = "correct policy.name or policy.revision, or set HF_TOKEN to a token that may read it"
        return Finding(check, "fault", found, remedy)
    return Finding(check, "ok", f"{name}, which the first run downloads")


SECONDS_FOR_ALL: Final = SECONDS_TO_WAIT + 5.0
"""Limit of every check: a database that another process holds is waited for, and a network may drop packets."""
CHECKS: Final[Mapping[str, Check]] = {
    "libraries": machine.check_libraries,
    "trainer": machine.check_trainer,
    "GPU": machine.check_gpu,
    "disk": machine.check_disk,
    "state folder": machine.check_state,
    "Prefect": check_prefect,
    "MLflow": check_mlflow,
    "region": check_region,
    "mirror": lambda config: try_store("mirror", mirror_address(config)),
    "artifacts": lambda config: try_store("artifacts", config.state.artifacts),
    "model": check_model,
    "files": check_files,
}


def examine(config: Config) -> tuple[Finding, ...]:
    """Check everything that a run with this configuration needs; change and leave nothing."""
    started = time.monotonic()
    under_way = {name: _begin(name, check, config) for name, check in CHECKS.items()}
    findings: list[Finding] = []
    for name, future in under_way.items():
        try:
            findings += future.result(max(0.0, started + SECONDS_FOR_ALL - time.monotonic()))
        except TimeoutError:
            remedy = "check the network, and what it is that does not answer"
            findings.append(Finding(name, "fault", f"no answer within {SECONDS_FOR_ALL:g} s", remedy))
    return tuple(findings)


def _begin(name: str, check: Check, config: Config) -> Future[list[Finding]]:
    """Start a check in a thread that does not delay the program's end."""
    future: Future[list[Finding]] = Future()

    def run() -> None:
        try:
            future.set_result(check(config))
        except TucanoError as error:
            future.set_result([refused(name, error)])
        except Exception as error:  # noqa: BLE001 - one check that fails must not hide what the others found
            found = f"could not be looked at ({type(error).__name__}: {error})"
            future.set_result([Finding(name, "fault", found, "free permissions or disk; else report this as a bug")])

    threading.Thread(target=run, name=f"doctor-{name}", daemon=True).start()
    return future


def require_ready(config: Config, profile_name: str) -> None:
    """Refuse a run that this machine cannot bring to its end: no GPU, no model, no inputs."""
    policies = [(record.config or {}).get("policy", {}) for record in open_store(config).records("base")]
    wanted = (config.policy.name, config.policy.revision)
    # The hub need not be asked again for a base that an earlier run made.
    has_base = any((policy.get("name"), policy.get("revision")) == wanted for policy in policies)
    # Those first that ask no other machine.
    checks = [check_files, machine.check_gpu, machine.check_gpu_packages, machine.check_trainer]
    for check in checks if has_base else [*checks, check_model]:
        faults = [finding for finding in check(config) if finding.verdict == "fault"]
        if faults:
            first, more = faults[0], f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            raise InputError(
                f"profile {profile_name} cannot run here: {first.check}: {first.found}{more}; {first.remedy}; all that "
                f"is missing: tucano doctor --profile {profile_name}"
            )
