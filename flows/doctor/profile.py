"""Checks of what the profile names: base model, files, endpoints, and the source of preemption notices."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from huggingface_hub import constants, get_token, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError

from flows.doctor.finding import (
    CheckOutcome,
    ClockReading,
    Finding,
    Unreachable,
    Verdict,
    ask,
    refused,
    single,
    unused,
)
from schemas.config.config import Config
from schemas.config.endpoint import EndpointSection
from schemas.errors import InputError
from schemas.store.store import require_tables
from tasks.policy.stand_in import shipped

SECONDS_FOR_THE_METADATA = 3.0
WEIGHTS: Final = ("model.safetensors", "model.safetensors.index.json")


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
    """Call each model endpoint that the profile names."""
    findings: list[Finding] = []
    clocks: list[ClockReading] = []
    for setting, section, verdict in _endpoints(config):
        finding, seen = _ask_model(setting, section, verdict)
        findings.append(finding)
        clocks.extend(seen)
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


def check_model(config: Config) -> CheckOutcome:
    """Look for the base model: the stand-in, a folder, the hub's cache on this machine, or the hub."""
    name = config.policy.name
    if config.policy.stand_in:
        return _stand_in()
    if Path(name).is_dir():
        return _folder(Path(name))
    try:
        cached = any(
            isinstance(try_to_load_from_cache(name, file, revision=config.policy.revision), str) for file in WEIGHTS
        )
    except HFValidationError:
        remedy = "correct it with --set policy.name=..."
        return single("model", "fault", f"policy.name {name!r} is neither a folder nor a hub name", remedy)
    return (
        single("model", "ok", f"{name}, downloaded already") if cached else _hub(name, config.policy.revision or "main")
    )


def _stand_in() -> CheckOutcome:
    try:
        shipped()
    except InputError as error:
        return CheckOutcome((refused("model", str(error)),))
    return single("model", "ok", "the shipped stand-in, whose files are those of its card")


def _hub(name: str, revision: str) -> CheckOutcome:
    remedy = "reach the hub once, set HF_ENDPOINT to a mirror of it, or set policy.name to the folder of a download"
    if constants.HF_HUB_OFFLINE:
        return single("model", "fault", f"{name} is not downloaded, and HF_HUB_OFFLINE is set", remedy)
    token = get_token()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        answer = ask("the model hub", f"{constants.ENDPOINT}/{name}/resolve/{revision}/config.json", headers=headers)
    except Unreachable as error:
        found = f"{name} is not downloaded, and {constants.ENDPOINT} does not answer ({error})"
        return single("model", "fault", found, remedy)
    if answer.status != 200:
        found = f"{constants.ENDPOINT} does not give {name} at {revision} (HTTP {answer.status})"
        remedy = "correct policy.name or policy.revision, or set HF_TOKEN to a token that may read it"
        return single("model", "fault", found, remedy, *answer.clocks)
    return single("model", "ok", f"{name}, which the first run downloads", "", *answer.clocks)


def _folder(folder: Path) -> CheckOutcome:
    missing = [name for name in ("config.json", "tokenizer_config.json") if not (folder / name).exists()]
    if not any((folder / name).exists() for name in WEIGHTS):
        missing.append(WEIGHTS[0])
    if missing:
        return single("model", "fault", f"{folder} lacks {', '.join(missing)}", "download the whole model into it")
    return single("model", "ok", str(folder))
