"""Asks a language model at an endpoint of OpenAI's form (vLLM, Ollama, and others) for one sentence.

The endpoint is not trusted: how much it may send and how long it may take is limited, its answer is read by a schema,
it is followed nowhere else, and nothing that it says is repeated in a message. The key is read from the environment,
sent in one header, and is in no message, log or representation.
"""

import os
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Annotated, Any, Final, Self

import httpx
from pydantic import BaseModel, Field, ValidationError
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from schemas.config import ParaphraseConfig
from schemas.errors import InputError

MAX_BYTES: Final = 200_000
"""No answer of one sentence is longer, with all that comes around it."""
MAX_TOKENS: Final = 200
FIRST_WAIT_SECONDS: Final = 0.5
MAX_WAIT_SECONDS: Final = 60.0
"""The longest wait before the next attempt, also where the endpoint asks for a longer one."""
BUSY: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
REMEDIES: Final = {
    401: "set the environment variable that synthesize.paraphrase.key_variable names to a key that it accepts",
    403: "use a key that may use the model",
    404: "check synthesize.paraphrase.url, which usually ends in /v1, and the model's name",
}


class EndpointError(InputError):
    """The endpoint cannot be used: it is down, refuses, or does not speak OpenAI's form."""


class _Transient(Exception):
    """One attempt failed in a way that may pass."""

    def __init__(self, what: str, retry_after: float | None = None) -> None:
        super().__init__(what)
        self.retry_after = retry_after


class _Message(BaseModel):
    content: str


class _Choice(BaseModel):
    message: _Message


class _Completion(BaseModel):
    choices: Annotated[list[_Choice], Field(min_length=1)]


class Endpoint:
    """A chat model; any number of threads may ask at once."""

    def __init__(self, config: ParaphraseConfig) -> None:
        """Read the key from the environment.

        Raises:
            InputError: The environment variable is not set, or holds what no header can carry.
        """
        self._config = config
        # No compression: what is small on the wire could be without limit in memory.
        headers = {"Accept-Encoding": "identity", **_authorization(config.key_variable)}
        limits = httpx.Limits(max_connections=config.concurrency)
        self._client = httpx.Client(headers=headers, timeout=config.timeout_seconds, limits=limits)
        backoff = wait_exponential_jitter(initial=FIRST_WAIT_SECONDS, max=MAX_WAIT_SECONDS, jitter=FIRST_WAIT_SECONDS)

        def wait(state: RetryCallState) -> float:
            failure = state.outcome.exception() if state.outcome else None
            asked_for = failure.retry_after if isinstance(failure, _Transient) else None
            return backoff(state) if asked_for is None else min(asked_for, MAX_WAIT_SECONDS)

        self._retrying = Retrying(
            stop=stop_after_attempt(config.max_attempts),
            wait=wait,
            retry=retry_if_exception_type(_Transient),
            reraise=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._client.close()

    def ask(self, instruction: str, text: str, seed: int) -> str:
        """Return what the model answers.

        Args:
            instruction: The system prompt.
            text: The user's message.
            seed: For servers that sample by it.

        Raises:
            EndpointError: No readable answer came in as many attempts as the configuration allows, or a refusal.
        """
        body = {
            "model": self._config.model,
            "temperature": self._config.temperature,
            "max_tokens": MAX_TOKENS,
            "seed": seed,
            "messages": [{"role": "system", "content": instruction}, {"role": "user", "content": text}],
        }
        try:
            return self._retrying(self._attempt, body)
        except _Transient as failure:
            raise self._error(f"{failure} in each of {self._config.max_attempts} attempts", None) from None

    def _attempt(self, body: dict[str, Any]) -> str:
        try:
            with self._client.stream("POST", f"{self._config.url}/chat/completions", json=body) as response:
                if response.status_code in BUSY:
                    waits = _retry_after(response.headers.get("retry-after"))
                    raise _Transient(f"answered {response.status_code}", waits)
                if response.status_code != httpx.codes.OK:
                    raise self._error(f"answered {response.status_code}", response.status_code)
                content = self._read(response)
        except httpx.TimeoutException:
            raise _Transient(f"did not answer within {self._config.timeout_seconds:g} s") from None
        except httpx.HTTPError as error:
            raise _Transient(f"could not be reached ({type(error).__name__})") from None
        try:
            return _Completion.model_validate_json(content).choices[0].message.content
        except ValidationError:
            raise _Transient("gave no chat completion of OpenAI's form") from None

    def _read(self, response: httpx.Response) -> bytes:
        content = bytearray()
        # The client's own limit is for each read: one byte at a time could go on for ever.
        deadline = time.monotonic() + self._config.timeout_seconds
        for chunk in response.iter_raw():
            content += chunk
            if len(content) > MAX_BYTES:
                raise _Transient(f"gave more than {MAX_BYTES:,} bytes for one sentence")
            if time.monotonic() > deadline:
                raise _Transient(f"did not answer within {self._config.timeout_seconds:g} s")
        return bytes(content)

    def _error(self, what: str, status: int | None) -> EndpointError:
        remedy = REMEDIES.get(
            status or 0,
            "see that it serves the model there, or set synthesize.paraphrase.required=false to go on without",
        )
        return EndpointError(f"the paraphrasing endpoint {self._config.url} {what}; {remedy}")


def _authorization(key_variable: str | None) -> dict[str, str]:
    if key_variable is None:
        return {}
    key = os.environ.get(key_variable, "").strip()
    if not key:
        raise InputError(
            f"the environment variable {key_variable}, which synthesize.paraphrase.key_variable names, is not set; "
            "put the endpoint's key there"
        )
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"the environment variable {key_variable} holds what no key can have; set it to the key alone")
    return {"Authorization": f"Bearer {key}"}


def _retry_after(value: str | None) -> float | None:
    """Read the header: seconds, or a date; what is neither is no wish."""
    if value is None:
        return None
    if value.isascii() and value.isdigit() and len(value) <= 9:
        return float(value)
    try:
        return max((parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None
