"""Check of the base model: present on this machine, or downloadable."""

from pathlib import Path
from typing import Final

from huggingface_hub import constants, get_token, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError

from flows.doctor.finding import CheckOutcome, refused, single
from flows.doctor.http import Unreachable, ask
from schemas.config.config import Config
from schemas.errors import InputError
from tasks.policy.stand_in import shipped

WEIGHTS: Final = ("model.safetensors", "model.safetensors.index.json")


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
