"""One short request to a server, with the time that the server has."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from flows.doctor_finding import ClockReading
from schemas.errors import TucanoError

SECONDS_TO_ANSWER = 5.0
_HALF_A_TICK = 0.5
"""The `Date` of an answer is cut to whole seconds."""


class Unreachable(TucanoError):
    """No answer came; its text is the reason."""


@dataclass(frozen=True)
class Answer:
    """What a server answered."""

    status: int
    text: str
    clocks: tuple[ClockReading, ...]
    """The server's clock, where the answer has a date."""

    @property
    def refuses_credentials(self) -> bool:
        """Say whether it asks for a user, a password or a key, or accepts not the one given."""
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
) -> Answer:
    """Send one request, and follow where it is sent on.

    Args:
        name: Whose clock it is that the answer tells.
        address: Where to.
        method: HTTP's.
        headers: HTTP's.
        credentials: User and password, for HTTP's basic authentication.
        body: Sent as JSON; nothing where None.
        seconds: The longest to wait for the connection, and for each part of the answer.

    Raises:
        Unreachable: Nothing answers there.
    """
    import httpx

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
    here = (before + time.time()) / 2
    return Answer(response.status_code, response.text, _clocks(name, response.headers.get("date"), here))


def _clocks(name: str, date: str | None, here: float) -> tuple[ClockReading, ...]:
    if date is None:
        return ()
    try:
        there = parsedate_to_datetime(date).timestamp()
    except ValueError:
        return ()
    return (ClockReading(name, there + _HALF_A_TICK - here),)
