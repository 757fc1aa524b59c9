"""Lease for a single writer, in the object store: renewed by heartbeats, with a growing fencing number.

Creating `lease/<number>/00000000.json` acquires the lease of that number. The holder keeps creating heartbeats beside
it; a contender compares the newest with the store's own clock. The newest number holds, so a holder that was suspended
for too long finds a higher one and stops. Three rules keep that true while objects are listed and deleted concurrently:

- the first heartbeat of a number stays as long as the number is one of the two newest, so no number is assigned twice;
- the two newest heartbeats stay, so a listing during a replacement sees at least the previous one;
- a holder writes and deletes under its own number and older ones only, so it cannot touch its successor's objects.
"""

import logging
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event, Thread
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.errors import InputError
from tasks.checkpoints.machine import ProcessIdentity, is_dead, this_process
from tasks.checkpoints.object_store import ObjectMissing, ObjectStore, StoredObject, create, store_time

FOLDER: Final = "lease/"
LONGEST_WAIT_SECONDS: Final = 5.0
"""Interval of the check for a released lease."""
STOP_SECONDS: Final = 2.0
"""Time that a release waits for a heartbeat in flight; arriving later, it does no harm."""
STOPS: Final = "this process stops: run the same command again"
_NAME: Final = re.compile(r"(?P<fencing>\d{8})/(?:(?P<beat>\d{8})|released)\.json")
logger = logging.getLogger(__name__)


class LeaseLost(InputError):
    """This process no longer holds the lease of the training."""


@dataclass(frozen=True)
class Holder:
    """Holder of a lease."""

    owner: ProcessIdentity
    seconds: float
    """Lifetime of the lease without a heartbeat."""
    heard_at: datetime
    """Time of the newest heartbeat, in UTC by the store's clock."""


class _Claim(BaseModel):
    """Content of every heartbeat."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    owner: ProcessIdentity
    seconds: float = Field(gt=0, allow_inf_nan=False)


@dataclass
class _Turn:
    """Objects of one fencing number."""

    fencing: int
    beats: list[StoredObject] = field(default_factory=list)
    released: StoredObject | None = None


class Lease:
    """Right to write a training's checkpoints, until another process has a higher fencing number."""

    def __init__(self, store: ObjectStore, root: str, fencing: int, claim: _Claim, renewed: float) -> None:
        """Hold what `acquire` got; `renewed` is the time of its request, by `time.monotonic`."""
        self.fencing: Final = fencing
        self.owner: Final = claim.owner
        self.lost: Final = Event()
        self._store = store
        self._root = root
        self._seconds = claim.seconds
        self._content = claim.model_dump_json().encode()
        self._renewed = renewed
        self._beats = 0
        self._stop = Event()
        self._thread: Thread | None = None
        self._loss = (
            f"the heartbeat of the lease of training {_training(root)} broke off, and the log says why; {STOPS}"
        )

    @classmethod
    def acquire(
        cls,
        store: ObjectStore,
        root: str,
        *,
        seconds: float,
        waiting: Callable[[str, float], None] = lambda sentence, _: logger.info(sentence),
        sleep: Callable[[float], None] = time.sleep,
    ) -> "Lease":
        """Acquire the lease of the training below `root`, for so many seconds without a heartbeat.

        It waits until the holder releases it or its newest heartbeat is older than its own lease time, by the store's
        clock; not for a holder that was killed on this same machine. `waiting` is called before each wait, with a
        sentence for people and the most seconds left; an exception ends the waiting.
        """
        claim = _Claim(owner=this_process(), seconds=seconds)
        content = claim.model_dump_json().encode()
        while True:
            now = store_time(store, root)  # before the listing: a heartbeat in between must not look old
            turns = _turns(store, root, refuse_foreign=True)
            if turns and (other := _holder(store, root, turns[-1])):
                heard = max((now - other.heard_at).total_seconds(), 0.0)
                if heard <= other.seconds:
                    left = other.seconds - heard
                    sentence = (
                        f"the training {_training(root)} is held by process {other.owner.process} on machine "
                        f"{other.owner.machine}, last heard of {heard:.0f} s ago; waiting until it gives it back, or "
                        f"for at most {math.ceil(left)} s if it stays silent"
                    )
                    waiting(sentence, left)
                    sleep(min(max(left, 0.1), seconds / 4, LONGEST_WAIT_SECONDS))
                    continue
            fencing = turns[-1].fencing + 1 if turns else 1
            asked = time.monotonic()
            # A slow contender may create a number that has come and gone: only the newest counts.
            if create(store, _key(root, fencing, 0), content) and _newest(store, root).fencing == fencing:
                return cls(store, root, fencing, claim, asked)

    def start(self) -> None:
        """Start the heartbeat, which sets `lost` when another process has the lease."""
        self._thread = Thread(target=self._beat_until_stopped, name=f"lease {self.fencing}", daemon=True)
        self._thread.start()

    def require_held(self) -> None:
        """Check with the store that this process holds the lease; after `LeaseLost` nothing that it does is kept."""
        if self.lost.is_set():
            raise LeaseLost(self._loss)
        self._require_newest()

    def release(self) -> None:
        """Stop the heartbeat and release the lease; repeating it, or calling it after a loss, changes nothing.

        If the store cannot be reached, the lease expires by itself, with a warning.
        """
        self._stop.set()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)
        try:
            turns = self._require_newest()
            create(self._store, f"{self._root}{FOLDER}{self.fencing:08d}/released.json", self._content)
            self._tidy(turns)
        except LeaseLost:
            return  # it is another's, or released already
        except InputError as error:
            logger.warning("%s; the lease is not given back, and runs out in %g s", error, self._seconds)

    def _beat_until_stopped(self) -> None:
        interval = self._seconds / 3
        pause = max(interval - (time.monotonic() - self._renewed), 0.0)
        try:
            while not self._stop.wait(pause):
                try:
                    self._beat()
                    pause = interval
                except LeaseLost as error:
                    self._loss = str(error)
                    logger.warning(self._loss)
                    return
                except InputError as error:
                    # However long: while no process has taken over, the work done meanwhile can still be kept, and no
                    # process can take over in an unreachable store.
                    silent = time.monotonic() - self._renewed
                    logger.warning("no heartbeat of the lease for %.0f s of %g: %s", silent, self._seconds, error)
                    pause = interval / 4
        finally:  # also if the heartbeat ends by an unexpected error
            if not self._stop.is_set():
                self.lost.set()

    def _beat(self) -> None:
        """Renew the lease. A late heartbeat counts as long as no process has taken over: a busy machine may pause."""
        asked = time.monotonic()
        turns = self._require_newest()
        self._beats += 1  # each attempt has its own name: the store's creation time counts
        key = _key(self._root, self.fencing, self._beats)
        if not create(self._store, key, self._content):
            raise InputError(f"{key} is there already and is not of this process; leave the folder to tucano alone")
        self._renewed = asked
        self._tidy(turns)

    def _tidy(self, turns: list[_Turn]) -> None:
        """Delete objects listed before the newest heartbeat that no reader needs any more."""
        for turn in turns:
            past = turn.fencing < self.fencing - 1
            for stored in [*turn.beats, *([turn.released] if turn.released else [])] if past else turn.beats[1:-1]:
                self._store.delete(stored)

    def _require_newest(self) -> list[_Turn]:
        turns = _turns(self._store, self._root)
        training = _training(self._root)
        newest = turns[-1] if turns else _Turn(0)
        if newest.fencing > self.fencing:
            claim = _claim(self._store, newest)
            machine = claim.owner.machine if claim else "another machine"
            raise LeaseLost(
                f"the training {training} was taken over by {machine} (fencing number {newest.fencing}, here "
                f"{self.fencing}); this process stops, and nothing that it did since is kept"
            )
        if newest.fencing < self.fencing:
            raise LeaseLost(f"the lease of training {training} was removed from the store by hand; {STOPS}")
        if newest.released:
            raise LeaseLost(f"the lease of training {training} was given back; {STOPS}")
        return turns


def holder(store: ObjectStore, root: str) -> Holder | None:
    """Return the holder of a training's lease; None if it is free or its process is known to be dead.

    A holder that has been silent for longer than its lease's lifetime keeps it until another process asks.
    """
    turns = _turns(store, root)
    return _holder(store, root, turns[-1]) if turns else None


def _holder(store: ObjectStore, root: str, newest: _Turn) -> Holder | None:
    """Return the holder of the newest number, unless it was released or its process is known to be dead."""
    if newest.released:
        return None
    claim = _claim(store, newest)
    if claim is None:
        if _newest(store, root).fencing != newest.fencing:
            return None  # superseded and deleted since it was listed: claiming its place fails
        raise InputError(
            f"{newest.beats[0].key} is damaged or of a newer version; make sure that no other process trains "
            f"{_training(root)}, then put an empty file released.json beside it and run the same command again"
        )
    return None if is_dead(claim.owner) else Holder(claim.owner, claim.seconds, newest.beats[-1].created_at)


def _claim(store: ObjectStore, turn: _Turn) -> _Claim | None:
    """Return the content of a number's heartbeats: all are equal, so the first readable one will do."""
    for beat in turn.beats:
        try:
            return _Claim.model_validate_json(store.read(beat.key))
        except (ObjectMissing, ValidationError):
            logger.debug("%s cannot be read", beat.key)
    return None


def _turns(store: ObjectStore, root: str, *, refuse_foreign: bool = False) -> list[_Turn]:
    turns: dict[int, _Turn] = {}
    prefix = f"{root}{FOLDER}"
    for stored in store.list(prefix):
        name = _NAME.fullmatch(stored.key.removeprefix(prefix))
        if name is None:
            if refuse_foreign and not stored.key.endswith("/"):  # such as consoles create for folders
                raise InputError(f"{stored.key} is no lease; move it elsewhere and run the same command again")
            continue
        turn = turns.setdefault(int(name["fencing"]), _Turn(int(name["fencing"])))
        if name["beat"] is None:
            turn.released = stored
        else:
            turn.beats.append(stored)
    return [turns[fencing] for fencing in sorted(turns)]


def _newest(store: ObjectStore, root: str) -> _Turn:
    return next(reversed(_turns(store, root)), _Turn(0))


def _training(root: str) -> str:
    return root.rstrip("/").rpartition("/")[2]


def _key(root: str, fencing: int, beat: int) -> str:
    return f"{root}{FOLDER}{fencing:08d}/{beat:08d}.json"
