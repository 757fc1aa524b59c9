"""Checks of the sampling vLLM before costly work: its version and, for a server, its model."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from schemas.config.train import TrainConfig
from schemas.errors import InputError
from tasks.train.backend.pins import differing, unpinned

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SECONDS_TO_ANSWER: Final = 30.0
PROBE: Final = "Pedido nº 4.213: você economizou R$ 1.299,90! Entrega até 25/11, frete grátis."
"""Text that tokenizers of different models split differently."""
LIKELIEST: Final = {"prompt": PROBE, "max_tokens": 1, "temperature": 1.0, "top_k": 1, "logprobs": 0}
"""Request for the likeliest token alone, whose probability after the filter is 1."""


def require_vllm(config: TrainConfig, tokenizer: "PreTrainedTokenizerBase", *, tokens: int) -> None:
    """Refuse to start with a vLLM that could not sample for this training.

    Args:
        config: The recipe, with `vllm.enabled`.
        tokenizer: The policy's.
        tokens: The longest prompt and completion together.

    Raises:
        InputError: vLLM is missing here or is not the pinned one; or its server does not answer, is another version,
            serves another model or shorter sequences, or does not run as TRL needs it.
    """
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
