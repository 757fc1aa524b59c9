"""Preemption notice: a signal, or the answer of Google's metadata server.

https://cloud.google.com/compute/docs/instances/create-use-preemptible: the value `instance/preempted` turns from FALSE
to TRUE, and a request with `wait_for_change` is answered when the value no longer matches `last_etag`; so no change is
missed, neither between two requests nor before the first.
"""

import http.client
import logging
import signal
import threading
import time
import urllib.parse
import urllib.request
from typing import Final

from schemas.timeouts import NOTICE_RESERVE_SECONDS

SECONDS_OF_A_POLL: Final = 300
SECONDS_BETWEEN_FAILURES: Final = 5.0
SECONDS_BETWEEN_ANSWERS: Final = 1.0  # Pause between requests to a server that does not wait.
NOT_ASKED_YET: Final = "NONE"  # Tag that matches no value, so that the first request is answered at once.
LOOPBACK: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""The metadata server is on the machine itself, so proxies are bypassed."""

logger = logging.getLogger(__name__)


class Preemption:
    """Notice that this process has to stop, and the time left, also of the step under way."""

    def __init__(self, seconds: float, notice_url: str | None = None, notice_seconds: float = 0.0) -> None:
        self.seconds = seconds
        self._announced_seconds = max(seconds, notice_seconds - NOTICE_RESERVE_SECONDS)
        self._notice_url = notice_url
        self._deadline = self._announced_deadline = float("inf")
        self._step_began, self._lasted = float("inf"), tuple[float, ...]()
        self.noticed = threading.Event()
        """Set when the process has to stop."""
        self.announced = False
        """Whether the machine itself announced its end; otherwise it was a signal."""

    def watch(self) -> None:
        """Listen for SIGTERM, and poll for the notice in a thread; call it in the main thread."""
        signal.signal(signal.SIGTERM, lambda *_: self.notice())
        if self._notice_url is not None:
            threading.Thread(target=self._poll, args=[self._notice_url], name="preemption", daemon=True).start()

    def notice(self) -> None:
        """Record a signal: the first starts the clock, also where an announcement had left more time."""
        # Not `is_set`: a second signal may arrive while the first is setting it.
        if self._deadline == float("inf"):
            self._deadline = time.monotonic() + self.seconds
            self.noticed.set()

    def seconds_left(self) -> float:
        """Return the time until the exit: infinite before a notice, never below 0."""
        return max(0.0, min(self._deadline, self._announced_deadline) - time.monotonic())

    def step_ended(self) -> None:
        """Record that a step has ended, and that the next begins."""
        now = time.monotonic()
        if self._step_began < now:
            self._lasted = (*self._lasted, now - self._step_began)[-4:]
        self._step_began = now

    def seconds_of_step(self) -> float:
        """Return the least time until the step under way ends, by the shortest of the last; 0 where that is unknown."""
        return max(0.0, min(self._lasted) - (time.monotonic() - self._step_began)) if self._lasted else 0.0

    def _poll(self, url: str) -> None:
        warned, tag = False, NOT_ASKED_YET
        while not self.noticed.is_set():
            try:
                announced, tag = _ask(url, tag)
            # The last is raised for an invalid address, and for what is no answer of the metadata server.
            except (OSError, http.client.HTTPException, ValueError) as error:
                # Machines outside Google's cloud have no such server; a signal still works.
                if not warned:
                    logger.warning("the preemption notice at %s does not answer (%s); asking again", url, error)
                warned = True
                time.sleep(SECONDS_BETWEEN_FAILURES)
                continue
            if announced:
                self.announced = True
                self._announced_deadline = time.monotonic() + self._announced_seconds
                self.noticed.set()
            else:
                time.sleep(SECONDS_BETWEEN_ANSWERS)


def is_spot(notice_url: str | None) -> bool:
    """Return whether this machine has a Spot price: one with a notice, unless its metadata server says otherwise."""
    if notice_url is None:
        return False
    try:
        value, _ = _get(f"{notice_url.rpartition('/')[0]}/scheduling/preemptible", SECONDS_BETWEEN_FAILURES)
    except (OSError, http.client.HTTPException):
        return True
    return value != b"FALSE"


def _ask(url: str, tag: str) -> tuple[bool, str]:
    """Wait for a value with another tag, or a timeout; return whether it is TRUE, and its tag."""
    waits = f"wait_for_change=true&timeout_sec={SECONDS_OF_A_POLL}&last_etag={urllib.parse.quote(tag)}"
    value, tag = _get(f"{url}?{waits}", SECONDS_OF_A_POLL + 30)
    if value not in {b"TRUE", b"FALSE"}:
        raise ValueError("something other than TRUE or FALSE, as a page of a proxy")
    return value == b"TRUE", tag


def _get(url: str, seconds: float) -> tuple[bytes, str]:
    """Return a value of the metadata server, and its tag."""
    request = urllib.request.Request(url, headers={"Metadata-Flavor": "Google"})  # noqa: S310 - the configuration's
    with LOOPBACK.open(request, timeout=seconds) as answer:
        return answer.read(16).strip(), answer.headers.get("ETag", NOT_ASKED_YET)
