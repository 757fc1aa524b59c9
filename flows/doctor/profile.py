"""Configuration pre-checks: files, endpoints, and the source of preemption notices that the profile names."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from flows.doctor.finding import CheckOutcome, ClockReading, Finding, Verdict, refused, single, unused
from flows.doctor.http import Unreachable, ask
from schemas.config.config import Config
from schemas.config.endpoint import EndpointSection
from schemas.errors import InputError
from schemas.store.store import require_tables

SECONDS_FOR_THE_METADATA = 3.0


def check_files(config: Config) -> CheckOutcome:
    """Look for each file and folder that the profile names."""
    named = dict(_named_files(config))
    findings = [
        # Training does not read production logs.
        Finding(
            "files",
            "warning" if setting == "monitor.logs" else "fault",
            f"{setting} {path} is not there",
            f"put it there, or correct {setting}",
        )
        for setting, path in named.items()
        if not path.exists()
    ]
    olist = config.synthesize.olist_dir
    if olist is not None and olist.exists():
        try:
            require_tables(olist)
        except InputError as error:
            findings.append(refused("files", str(error)))
    if findings:
        return CheckOutcome(tuple(findings))
    return single("files", "ok", f"{', '.join(named)}: there") if named else unused("files", "the profile names none")


def check_endpoints(config: Config) -> CheckOutcome:
    """Call each model endpoint and Dask's scheduler that the profile names."""
    findings: list[Finding] = []
    clocks: list[ClockReading] = []
    for setting, section, verdict in _endpoints(config):
        finding, seen = _ask_model(setting, section, verdict)
        findings.append(finding)
        clocks.extend(seen)
    if (dask := config.curate.dask_address) is not None:
        findings.append(_connect("curate.dask_address", dask, "fault", "start the scheduler, or correct the address"))
    return CheckOutcome(tuple(findings), tuple(clocks)) if findings else unused("endpoints", "the profile names none")


def check_notice(config: Config) -> CheckOutcome:
    """Call the service that announces a Spot machine's preemption."""
    address, name = config.train.preemption.notice_url, "preemption"
    if config.workers.training is not None or address is None:
        return unused(name, "no notice is waited for here")
    remedy = "train on the Spot machine that it is of; elsewhere nothing is lost but the notice"
    try:
        answer = ask(name, address, headers={"Metadata-Flavor": "Google"}, seconds=SECONDS_FOR_THE_METADATA)
    except Unreachable:
        return single(name, "warning", f"nobody announces this machine's end at {address}", remedy)
    if answer.status != 200 or answer.text.strip() not in {"TRUE", "FALSE"}:
        found = f"{address} answers with HTTP {answer.status}, and neither TRUE nor FALSE"
        return single(name, "warning", found, remedy)
    return single(name, "ok", "the machine's end is announced")


def _named_files(config: Config) -> Iterator[tuple[str, Path]]:
    general = config.curate.general
    named = {
        "synthesize.olist_dir": config.synthesize.olist_dir,
        "synthesize.files": config.synthesize.files,
        "curate.general.path": general.path if general is not None else None,
        "curate.known_to_base": config.curate.known_to_base,
        "curate.references": config.curate.references,
        "audit.sheet": config.audit.sheet,
        "audit.rollouts": config.audit.rollouts,
        "audit.store": config.audit.store,
        "monitor.logs": config.monitor.logs,
    }
    return ((setting, path) for setting, path in named.items() if path is not None)


def _endpoints(config: Config) -> Iterator[tuple[str, EndpointSection, Verdict]]:
    paraphrase = config.synthesize.paraphrase
    if paraphrase is not None:
        yield "synthesize.paraphrase", paraphrase, "fault" if paraphrase.mandatory else "warning"
    for rival in config.evaluate.rivals:
        yield f"evaluate.rivals.{rival.name}", rival, "fault"
    if config.evaluate.judge is not None:
        yield "evaluate.judge", config.evaluate.judge, "fault"


def _ask_model(setting: str, section: EndpointSection, verdict: Verdict) -> tuple[Finding, tuple[ClockReading, ...]]:
    variable = section.key_variable
    key = os.environ.get(variable) if variable else None
    if variable and not key:
        return Finding(setting, verdict, f"{variable} is not set", f"export {variable}=KEY"), ()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        answer = ask(section.url, f"{section.url}/models", headers=headers)
    except Unreachable as error:
        found = f"nothing answers at {section.url} ({error})"
        return Finding(setting, verdict, found, f"start it, or correct {setting}.url"), ()
    if answer.refuses_credentials:
        found = f"{section.url} refuses the key (HTTP {answer.status})"
        return Finding(setting, verdict, found, f"set {setting}.key_variable, and the variable that it names"), ()
    if answer.status >= 500:
        found = f"{section.url} fails (HTTP {answer.status})"
        return Finding(setting, verdict, found, "look into the endpoint's own log"), answer.clocks
    return Finding(setting, "ok", f"{section.url} answers"), answer.clocks


def _connect(setting: str, address: str, verdict: Verdict, remedy: str) -> Finding:
    try:
        parts = urlsplit(address)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), SECONDS_FOR_THE_METADATA):
            return Finding(setting, "ok", f"{address} answers")
    except (OSError, ValueError) as error:
        return Finding(setting, verdict, f"nothing answers at {address} ({error})", remedy)
