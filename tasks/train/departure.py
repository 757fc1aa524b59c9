"""How a training leaves a machine that will be taken away: with its last finished step mirrored, and by exit code 4."""

import os
import threading
import time
import traceback
from typing import TYPE_CHECKING, Final

from schemas.errors import InputError, Interrupted
from tasks.checkpoints.lease import LeaseLost
from tasks.policy.child import Channel
from tasks.train.held_training import HeldTraining
from tasks.train.preemption import Preemption

if TYPE_CHECKING:
    from tasks.train.checkpointer import Checkpointer

LEAST_RESERVE: Final = 4.0
"""Seconds for what comes after the last upload: the end of the stretch, the lease."""


class Departure:
    """Leaves at the end of the step under way, or in the middle of it where its end would come too late.

    A step may take a minute, in which Python hears of no signal's exception safely; so a thread leaves in that case,
    with the snapshot of the step before.
    """

    def __init__(self, preemption: Preemption, held: HeldTraining, channel: Channel) -> None:
        """Begin to listen.

        Args:
            preemption: The notice.
            held: The training.
            channel: Told why the process ends.
        """
        self.preemption = preemption
        self._held = held
        self._channel = channel
        self._checkpointer: Checkpointer | None = None
        self._leaving = threading.Lock()
        """Held by whoever leaves: the main thread at the end of its step, or another in the middle of it."""
        threading.Thread(target=self._leave_in_time, name="departure", daemon=True).start()

    def follow(self, checkpointer: "Checkpointer") -> None:
        """Mirror this one's last snapshot from now on; before, there is nothing that is not mirrored."""
        self._checkpointer = checkpointer

    def leave_if_asked(self) -> None:
        """Leave where there was a notice: called when the step under way has ended, or the training has.

        Raises:
            Interrupted: There was.
        """
        if not self.preemption.noticed.is_set():
            return
        if not self._leaving.acquire(blocking=False):
            # The thread is leaving already, and ends the process.
            threading.Event().wait()
        raise Interrupted(self._leave())

    def _leave_in_time(self) -> None:
        """Leave at the last moment that still is in time, unless the step ends before; then end whatever hangs."""
        self.preemption.noticed.wait()
        while (seconds := self.preemption.seconds_left()) > 0:
            if seconds <= self._reserve() and self._leaving.acquire(blocking=False):
                threading.Thread(target=self._abandon, name="abandon", daemon=True).start()
            time.sleep(min(seconds, 0.2))
        self._channel.failure("the time to leave was over before all was mirrored", Interrupted.exit_code)
        os._exit(Interrupted.exit_code)

    def _reserve(self) -> float:
        """Return the seconds that leaving takes: twice what mirroring took, for one may be under way."""
        if self._checkpointer is None or self._checkpointer.last is None:
            return float("inf")
        measured = self._held.keeper.seconds_to_mirror
        half = self.preemption.seconds / 2
        return half if measured is None else min(half, LEAST_RESERVE + 2 * measured)

    def _leave(self) -> str:
        """Mirror the last finished step within the time left, end the stretch, and return what to say."""
        keeper = self._held.keeper
        last = None if self._checkpointer is None else self._checkpointer.last
        if last is not None and keeper.mirrored != last.step:
            # Not before: where nothing was trained yet, torch may not be loaded, and to load it takes too long now.
            from tasks.train.checkpointer import checkpoint_of

            keeper.keep(checkpoint_of(last, mirrored=True))
        try:
            in_time = keeper.flush(max(0.0, self.preemption.seconds_left() - 1.0))
            kept = "is mirrored" if in_time else "was not mirrored in time"
        except LeaseLost:
            raise
        except InputError as error:
            kept = f"was not mirrored ({error})"
        self._held.end("preempted" if self.preemption.announced else "interrupted")
        step = self._held.step if last is None else last.step
        return f"the training stopped after step {step}, which {kept}; run the same command again to go on from there"

    def _abandon(self) -> None:
        """Leave whatever the main thread is doing and whatever goes wrong."""
        sentence, code = "the training was left in disorder; the traceback is in its log", 1
        try:
            try:
                sentence, code = self._leave(), Interrupted.exit_code
            except InputError as error:
                sentence, code = str(error), error.exit_code
            except Exception:  # noqa: BLE001 - the last resort of a process, whose main thread may wait for this one
                traceback.print_exc()
            self._channel.failure(sentence, code)
        finally:
            os._exit(code)
