"""Checks of what the profile names: servers, stores, the base model, files and endpoints."""

import os
from importlib.metadata import version
from pathlib import Path
from typing import Final

import httpx
from huggingface_hub import constants, get_token, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError
from packaging.version import Version

from flows.doctor.machine import Finding, refused
from flows.runtime.prefect_server import prove_prefect_usable, reachable, shown
from flows.runtime.session import mirror_address, mlflow_store, prefect_folder, running_server
from schemas.config.config import Config
from schemas.config.endpoint import EndpointSection
from schemas.errors import InputError
from schemas.store.store import require_tables
from tasks.checkpoints.address import prove_usable
from tasks.lineage.mlflow.client import SQLITE_PREFIX, local_rows, open_client
from tasks.policy.published import given_template, shipped

SECONDS_TO_ANSWER: Final = 5.0
WEIGHTS: Final = ("model.safetensors", "model.safetensors.index.json")


def check_prefect(config: Config) -> list[Finding]:
    """Check the server that runs go to: reachable, credentials, version, and workers for its deployments.

    Raises:
        InputError: It refuses this machine, or a run's own server could not use its database.
    """
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
        findings = [_same_version(check, "prefect", there, shown(address))]
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
    """Check MLflow's server, or the SQLite store.

    Raises:
        InputError: The store cannot be used, or its server does not answer or refuses this machine.
    """
    address, local = mlflow_store(config.state)
    if local is not None:
        found = local_rows(address, "SELECT count(*) FROM runs")
        file = address.removeprefix(SQLITE_PREFIX)
        return [Finding("MLflow", "ok", f"{found[0][0]} runs in {file}" if found else f"the first run makes {file}")]
    # It asks the server with this machine's credentials.
    open_client(address)
    said = httpx.get(f"{address.rstrip('/')}/version", timeout=SECONDS_TO_ANSWER)
    if said.status_code != httpx.codes.OK:
        # One with users may tell it to nobody else.
        return [Finding("MLflow", "ok", f"{shown(address)} lets this machine in")]
    return [_same_version("MLflow", "mlflow", said.text, shown(address))]


def _same_version(check: str, package: str, there: str, address: str) -> Finding:
    here = version(package)
    if there.split(".")[:2] == [str(part) for part in Version(here).release[:2]]:
        return Finding(check, "ok", f"{there} at {address}")
    remedy = f"run {check} {here} there, as the constraints pin it"
    return Finding(check, "warning", f"{there[:20]} at {address}, and {here} here", remedy)


def check_mirror(config: Config) -> list[Finding]:
    """Try the store of checkpoints."""
    return _try("mirror", mirror_address(config))


def check_artifacts(config: Config) -> list[Finding]:
    """Try the store through which machines share artifacts."""
    if config.state.artifacts is None:
        return [Finding("artifacts", "ok", "state.artifacts is not set: they stay on this machine", unused=True)]
    return _try("artifacts", config.state.artifacts)


def _try(check: str, address: str) -> list[Finding]:
    try:
        prove_usable(address)
    except InputError as error:
        return [refused(check, f"{address}: {error}")]
    return [Finding(check, "ok", f"create, precondition, read, list, delete in {address}")]


def check_files(config: Config) -> list[Finding]:
    """Look for each file and folder that the profile names."""
    named: dict[str, Path | None] = {
        "synthesize.olist_dir": config.synthesize.olist_dir,
        "synthesize.files": config.synthesize.files,
        "curate.general.path": config.curate.general.path if config.curate.general is not None else None,
        "curate.known_to_base": config.curate.known_to_base,
        "curate.references": config.curate.references,
        "audit.sheet": config.audit.sheet,
        "audit.rollouts": config.audit.rollouts,
        "audit.store": config.audit.store,
        "monitor.logs": config.monitor.logs,
    }
    there = [setting for setting, path in named.items() if path is not None]
    findings = [
        # Training does not read production logs.
        Finding(
            "files",
            "warning" if setting == "monitor.logs" else "fault",
            f"{setting} {path} is not there",
            f"put it there, or correct {setting}",
        )
        for setting, path in named.items()
        if path is not None and not path.exists()
    ]
    if (olist := config.synthesize.olist_dir) is not None and olist.exists():
        try:
            require_tables(olist)
        except InputError as error:
            findings.append(refused("files", error))
    all_there = f"{', '.join(there)}: there" if there else "none is named"
    return findings or [Finding("files", "ok", all_there, unused=not there)]


def check_endpoints(config: Config) -> list[Finding]:
    """Call each model endpoint that the profile names."""
    found = [_call(f"evaluate.rivals.{rival.name}", rival) for rival in config.evaluate.rivals]
    return found or [Finding("endpoints", "ok", "the profile names none", unused=True)]


def _call(setting: str, section: EndpointSection) -> Finding:
    variable = section.key_variable
    key = os.environ.get(variable) if variable else None
    if variable and not key:
        return Finding(setting, "fault", f"{variable} is not set", f"export {variable}=KEY")
    status = _status(f"{section.url}/models", key)
    if isinstance(status, str):
        return Finding(setting, "fault", f"nothing answers at {section.url} ({status})", f"correct {setting}.url")
    if status in {401, 403}:
        found = f"{section.url} refuses the key (HTTP {status})"
        return Finding(setting, "fault", found, f"set {setting}.key_variable, and the variable that it names")
    if status >= 500:
        return Finding(setting, "fault", f"{section.url} fails (HTTP {status})", "look into the endpoint's own log")
    return Finding(setting, "ok", f"{section.url} answers")


def _status(address: str, key: str | None) -> int | str:
    """Return the status of an answer, or why there was none."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        return httpx.get(address, headers=headers, timeout=SECONDS_TO_ANSWER, follow_redirects=True).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return str(error) or type(error).__name__


def check_model(config: Config) -> list[Finding]:
    """Look for the base model: the stand-in, a folder, the hub's cache on this machine, or the hub.

    Raises:
        InputError: The shipped stand-in is not whole, or a folder's model or tokenizer cannot be trained.
    """
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
    status = _status(address, get_token())
    if isinstance(status, str):
        found = f"{name} is not downloaded, and {constants.ENDPOINT} does not answer ({status})"
        return Finding(check, "fault", found, remedy)
    if status != httpx.codes.OK:
        found = f"{constants.ENDPOINT} does not give {name} at {revision} (HTTP {status})"
        remedy = "correct policy.name or policy.revision, or set HF_TOKEN to a token that may read it"
        return Finding(check, "fault", found, remedy)
    return Finding(check, "ok", f"{name}, which the first run downloads")
