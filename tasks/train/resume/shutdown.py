"""Graceful shutdown on preemption: finish or abandon the step, upload the last snapshot, exit 4."""

import os
import threading
import time
import traceback
from typing import Final

from schemas.errors import InputError, Interrupted
from tasks.checkpoints.lease import LeaseLost
from tasks.policy.child import Channel
from tasks.train.resume.lease import TrainingLease
from tasks.train.resume.preemption import Preemption

SECONDS_AFTER_THE_LAST_UPLOAD: Final = 4.0
"""Reserve for closing the segment and the lease, and for an upload slower than the previous one."""


class GracefulShutdown:
    """Shutdown at the end of the current step, or in the middle of it if its end would come too late.

    A step may take a minute, during which Python cannot safely raise a signal's exception; a thread then exits the
    process with the snapshot of the step before.
    """

    def __init__(self, preemption: Preemption, channel: Channel) -> None:
        self.preemption = preemption
        self._channel = channel
        self._held: TrainingLease | None = None
        self._reason: str | None = None
        self._leaving = threading.Lock()
        """Held by the thread that shuts down: the main thread at the end of its step, or another in the middle of
        it."""
        threading.Thread(target=self._leave_in_time, name="shutdown", daemon=True).start()

    def with_training(self, held: TrainingLease) -> None:
        """Save this training's checkpoints on shutdown from now on; before, there is nothing to save."""
        self._held = held

    def stop_if_requested(self) -> None:
        """Shut down if there was a notice: called when a step or the training has ended."""
        if not self.preemption.noticed.is_set():
            return
        if not self._leaving.acquire(blocking=False):
            # Another thread is shutting down already, and ends the process.
            threading.Event().wait()
        raise Interrupted(self._leave())

    def _leave_in_time(self) -> None:
        """Shut down once the step cannot end in time, at once if so; exit at the deadline in any case."""
        self.preemption.noticed.wait()
        while (seconds := self.preemption.seconds_left()) > 0:
            if seconds <= self._seconds_to_leave() and self._leaving.acquire(blocking=False):
                threading.Thread(target=self._abandon, name="abandon", daemon=True).start()
            time.sleep(min(seconds, 0.2))
        self._exit(self._reason or self._sentence("was not mirrored in time"), Interrupted.exit_code)

    def _seconds_to_leave(self) -> float:
        """Return the seconds to finish the step and shut down; infinite, to do so now, if no step was finished here."""
        if self._held is None or self._held.keeper.last is None:
            return float("inf")
        upload = self._held.keeper.seconds_to_leave(unknown=self.preemption.seconds / 2)
        return self.preemption.seconds_of_step() + upload + SECONDS_AFTER_THE_LAST_UPLOAD

    def _leave(self) -> str:
        """Mirror the last finished step within the time left, and return the message."""
        if self._held is None:
            return "interrupted before training resumed; run the same command again"
        keeper = self._held.keeper
        try:
            keeper.leave()
            keeper.flush(max(0.0, self.preemption.seconds_left() - 1.0))
            kept = "is mirrored" if keeper.mirrored_step == self._step() else "was not mirrored in time"
        except LeaseLost:
            raise
        except InputError as error:
            kept = f"was not mirrored ({error})"
        self._reason = self._sentence(kept)
        return self._reason

    def _step(self) -> int:
        """Return the last finished step, of this segment or the one before."""
        if self._held is None:
            return 0
        last = self._held.keeper.last
        return self._held.step if last is None else last.step

    def _sentence(self, kept: str) -> str:
        """Return the message on the last finished step; without one, nothing had to be mirrored."""
        step = self._step()
        which = f", which {kept}" if step else ""
        return f"the training stopped after step {step}{which}; run the same command again to resume from there"

    def _abandon(self) -> None:
        """Exit whatever the main thread is doing and whatever fails."""
        sentence, code = "the training was left in disorder; the traceback is in its log", 1
        try:
            try:
                sentence, code = self._leave(), Interrupted.exit_code
                if self._held is not None:
                    # Exit without unwinding.
                    self._held.end("preempted" if self.preemption.announced else "interrupted")
            except InputError as error:
                sentence, code = str(error), error.exit_code
            except Exception:  # noqa: BLE001 - the last resort of a process, whose main thread may wait for this one
                traceback.print_exc()
        finally:
            self._exit(sentence, code)

    def _exit(self, sentence: str, code: int) -> None:
        try:
            self._channel.failure(sentence, code)
        finally:
            os._exit(code)
