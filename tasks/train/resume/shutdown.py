"""How a training leaves a machine that will be taken away: with its last finished step mirrored, and by exit code 4."""

import os
import threading
import time
import traceback
from typing import Final

from schemas.errors import InputError, Interrupted
from tasks.checkpoints.lease import LeaseLost
from tasks.policy.child import Channel
from tasks.train.held_training import HeldTraining
from tasks.train.preemption import Preemption

SECONDS_AFTER_THE_LAST_UPLOAD: Final = 4.0
"""For the end of the stretch and the lease, and for an upload that is slower than the one before."""


class Departure:
    """Leaves at the end of the step under way, or in the middle of it where its end would come too late.

    A step may take a minute, in which Python hears of no signal's exception safely; so a thread leaves in that case,
    with the snapshot of the step before.
    """

    def __init__(self, preemption: Preemption, channel: Channel) -> None:
        """Begin to listen.

        Args:
            preemption: The notice.
            channel: Told why the process ends.
        """
        self.preemption = preemption
        self._channel = channel
        self._held: HeldTraining | None = None
        self._told: str | None = None
        self._leaving = threading.Lock()
        """Held by whoever leaves: the main thread at the end of its step, or another in the middle of it."""
        threading.Thread(target=self._leave_in_time, name="departure", daemon=True).start()

    def with_training(self, held: HeldTraining) -> None:
        """Leave with this training's checkpoints from now on; before, there is nothing to leave with."""
        self._held = held

    def leave_if_asked(self) -> None:
        """Leave where there was a notice: called when the step under way has ended, or the training has.

        Raises:
            Interrupted: There was.
        """
        if not self.preemption.noticed.is_set():
            return
        if not self._leaving.acquire(blocking=False):
            # Another thread is leaving already, and ends the process.
            threading.Event().wait()
        raise Interrupted(self._leave())

    def _leave_in_time(self) -> None:
        """Leave at the last moment that still is in time, unless the step ends before; then end whatever hangs."""
        self.preemption.noticed.wait()
        while (seconds := self.preemption.seconds_left()) > 0:
            if seconds <= self._seconds_to_leave() and self._leaving.acquire(blocking=False):
                threading.Thread(target=self._abandon, name="abandon", daemon=True).start()
            time.sleep(min(seconds, 0.2))
        self._exit(self._told or self._sentence("was not mirrored in time"), Interrupted.exit_code)

    def _seconds_to_leave(self) -> float:
        """Return the seconds that leaving takes; where no step was finished here, there is nothing to wait for."""
        if self._held is None or self._held.keeper.last is None:
            return float("inf")
        return SECONDS_AFTER_THE_LAST_UPLOAD + self._held.keeper.seconds_to_leave(unknown=self.preemption.seconds / 2)

    def _leave(self) -> str:
        """Mirror the last finished step within the time left, and return what to say."""
        if self._held is None:
            return "interrupted before training went on; run the same command again"
        keeper = self._held.keeper
        try:
            keeper.leave()
            keeper.flush(max(0.0, self.preemption.seconds_left() - 1.0))
            kept = "is mirrored" if keeper.mirrored_step == self._step() else "was not mirrored in time"
        except LeaseLost:
            raise
        except InputError as error:
            kept = f"was not mirrored ({error})"
        self._told = self._sentence(kept)
        return self._told

    def _step(self) -> int:
        """Return the last finished step, of this stretch or of the one before."""
        if self._held is None:
            return 0
        last = self._held.keeper.last
        return self._held.step if last is None else last.step

    def _sentence(self, kept: str) -> str:
        """Say what became of the last finished step; where there is none, nothing had to be mirrored."""
        step = self._step()
        which = f", which {kept}" if step else ""
        return f"the training stopped after step {step}{which}; run the same command again to go on from there"

    def _abandon(self) -> None:
        """Leave whatever the main thread is doing and whatever goes wrong."""
        sentence, code = "the training was left in disorder; the traceback is in its log", 1
        try:
            try:
                sentence, code = self._leave(), Interrupted.exit_code
                if self._held is not None:
                    # Nothing unwinds here.
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
