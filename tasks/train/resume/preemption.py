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

SECONDS_OF_A_POLL: Final = 300
SECONDS_BETWEEN_FAILURES: Final = 5.0
SECONDS_BETWEEN_ANSWERS: Final = 1.0  # Pause between requests to a server that does not wait.
NOT_ASKED_YET: Final = "NONE"  # Tag that matches no value, so that the first request is answered at once.
LOOPBACK: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""The metadata server is on the machine itself, so proxies are bypassed."""

logger = logging.getLogger(__name__)


class Preemption:
    """Notice that this process has to stop, and the time left."""

    def __init__(self, seconds: float, notice_url: str | None = None) -> None:
        self.seconds = seconds
        self._notice_url = notice_url
        self._deadline = float("inf")
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
        """Record that the process has to stop; the first notice starts the clock."""
        # Not `is_set`: a second signal may arrive while the first is setting it.
        if self._deadline == float("inf"):
            self._deadline = time.monotonic() + self.seconds
            self.noticed.set()

    def seconds_left(self) -> float:
        """Return the time until the exit: infinite before a notice, never below 0."""
        return max(0.0, self._deadline - time.monotonic())

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
                self.notice()
            else:
                time.sleep(SECONDS_BETWEEN_ANSWERS)


def _ask(url: str, tag: str) -> tuple[bool, str]:
    """Wait for a value with another tag, or a timeout; return whether it is TRUE, and its tag."""
    request = urllib.request.Request(  # noqa: S310 - the address is the configuration's
        f"{url}?wait_for_change=true&timeout_sec={SECONDS_OF_A_POLL}&last_etag={urllib.parse.quote(tag)}",
        headers={"Metadata-Flavor": "Google"},
    )
    with LOOPBACK.open(request, timeout=SECONDS_OF_A_POLL + 30) as answer:
        value = answer.read(16).strip()
        if value not in {b"TRUE", b"FALSE"}:
            raise ValueError("something other than TRUE or FALSE, as a page of a proxy")
        return value == b"TRUE", answer.headers.get("ETag", NOT_ASKED_YET)
