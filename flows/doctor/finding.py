"""Findings of one check of `tucano doctor`, and the request by which a check asks a server."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

import httpx

from schemas.errors import TucanoError

Verdict = Literal["ok", "warning", "fault"]
SECONDS_TO_ANSWER = 5.0
_LONGEST_MARK = 100
"""Characters in which a page of HTML says what it is."""
_HALF_A_TICK = 0.5
"""The `Date` of a response is truncated to whole seconds."""


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's output: what was checked, what was found, and the remedy."""

    check: str
    verdict: Verdict
    """A `warning` lets a run start; a `fault` ends it, sooner or later."""
    found: str
    remedy: str = ""
    """Empty where there is nothing to fix."""
    unused: bool = False
    """Whether the profile has no use for what was to be checked, so that there is nothing to tell."""


@dataclass(frozen=True)
class ClockReading:
    """Another machine's clock relative to this one's."""

    of: str
    """Owner of the clock."""
    seconds_ahead: float
    """How far it is ahead of this machine's; negative if behind."""


@dataclass(frozen=True)
class CheckOutcome:
    """Findings of a check, and the clocks that it read on its way."""

    findings: tuple[Finding, ...]
    clocks: tuple[ClockReading, ...] = ()


def single(check: str, verdict: Verdict, found: str, remedy: str = "", *clocks: ClockReading) -> CheckOutcome:
    """Return the outcome of a check that found one thing."""
    return CheckOutcome((Finding(check, verdict, found, remedy),), clocks)


def unused(check: str, why: str) -> CheckOutcome:
    """Return the outcome of a check of something that the profile has no use for."""
    return CheckOutcome((Finding(check, "ok", why, unused=True),))


def refused(check: str, sentence: str, verdict: Verdict = "fault") -> Finding:
    """Return a finding from one of the project's messages, which name the remedy after the last semicolon."""
    found, _, remedy = sentence.rpartition("; ")
    return Finding(check, verdict, found or remedy, remedy if found else "")


class Unreachable(TucanoError):
    """No response came; the text is the reason."""


@dataclass(frozen=True)
class Response:
    """A server's response."""

    status: int
    text: str
    clocks: tuple[ClockReading, ...]
    """The server's clock, where the response has a date."""

    @property
    def refuses_credentials(self) -> bool:
        """Return whether the server asks for a user, a password or a key, or rejects the one given."""
        return self.status in {401, 403}


def ask(
    name: str,
    address: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    credentials: tuple[str, str] | None = None,
    body: Any = None,
    seconds: float = SECONDS_TO_ANSWER,
) -> Response:
    """Send one request, and follow redirects.

    Args:
        name: Name of the clock that the response gives.
        address: URL.
        method: HTTP method.
        headers: HTTP headers.
        credentials: User and password, for HTTP basic authentication.
        body: Sent as JSON; nothing where None.
        seconds: Timeout of the connection, and of each part of the response.

    Raises:
        Unreachable: Nothing answers there, or a page for people does.
    """
    before = time.time()
    try:
        response = httpx.request(
            method,
            address,
            headers=dict(headers or {}),
            auth=credentials,
            json=body,
            timeout=seconds,
            follow_redirects=True,
        )
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Unreachable(str(error) or type(error).__name__) from None
    if response.text[:_LONGEST_MARK].lstrip().lower().startswith(("<!doctype html", "<html")):
        # MLflow gives even its version the type of a page.
        raise Unreachable("a page of HTML came in place of an answer: see what stands between, as a proxy")
    here = (before + time.time()) / 2
    return Response(response.status_code, response.text, _clocks(name, response.headers.get("date"), here))


def _clocks(name: str, date: str | None, here: float) -> tuple[ClockReading, ...]:
    if date is None:
        return ()
    try:
        there = parsedate_to_datetime(date).timestamp()
    except ValueError:
        return ()
    return (ClockReading(name, there + _HALF_A_TICK - here),)
