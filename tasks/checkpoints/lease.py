"""One writer at a time: a lease in the object store, renewed by heartbeat, with a number that only grows.

Whoever creates `lease/<number>/00000000.json` holds the lease of that number. The holder goes on creating beats beside
it; who wants the lease compares the newest with the store's own clock. The newest number holds, so a holder that slept
for too long finds a higher one and stops. Three things keep that true while objects are listed and deleted at once:

- the first beat of a number stays as long as the number is one of the two newest, so no number is given twice;
- the two newest beats stay, so whoever lists while a beat is replaced sees at least the one before;
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
from tasks.checkpoints.machine import Owner, is_gone, this_process
from tasks.checkpoints.object_store import ObjectMissing, ObjectStore, StoredObject, create, store_time

FOLDER: Final = "lease/"
LONGEST_WAIT_SECONDS: Final = 5.0
"""A lease that is given back is noticed within this time."""

STOP_SECONDS: Final = 2.0
"""How long a release waits for a beat that is on its way; arriving later, it does no harm."""

_NAME: Final = re.compile(r"(?P<fencing>\d{8})/(?:(?P<beat>\d{8})|released)\.json")
logger = logging.getLogger(__name__)


class LeaseLost(InputError):
    """This process no longer holds the lease of the training."""


@dataclass(frozen=True)
class Holder:
    """Who holds a lease."""

    owner: Owner
    seconds: float
    """How long the lease lives without a heartbeat."""
    heard_at: datetime
    """Of the newest heartbeat, in UTC by the store's clock."""


class _Claim(BaseModel):
    """What every beat says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    owner: Owner
    seconds: float = Field(gt=0, allow_inf_nan=False)


@dataclass
class _Turn:
    """What the store has of one fencing number."""

    fencing: int
    beats: list[StoredObject] = field(default_factory=list)
    released: StoredObject | None = None


class Lease:
    """The right to write a training's checkpoints, until another process has a higher fencing number."""

    def __init__(self, store: ObjectStore, root: str, fencing: int, claim: _Claim, renewed: float) -> None:
        """Hold what `acquire` got: `renewed` is when it asked, by `time.monotonic`."""
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
            f"the heartbeat of the lease of training {_training(root)} broke off, and the log says why; this process "
            "stops: run the same command again"
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
        """Get the lease of the training below `root`, waiting for whoever holds it.

        A holder is waited for until it gives the lease back or its newest beat is older than its own lease time, by
        the store's clock. One that was killed on this same machine is not waited for.

        Args:
            store: Where the training's checkpoints are.
            root: The key prefix of the training, with a slash at its end.
            seconds: How long the lease lives without a heartbeat.
            waiting: Called before each wait, with a sentence for people and the most seconds that are left to wait if
                the holder is silent from now on; what it raises ends the waiting.
            sleep: How to wait, in seconds.

        Raises:
            InputError: The store cannot be used, or what lies in `lease/` is damaged or something else.
        """
        claim = _Claim(owner=this_process(), seconds=seconds)
        content = claim.model_dump_json().encode()
        while True:
            now = store_time(store, root)  # before the listing: a beat in between must not look old
            turns = _turns(store, root, refuse_foreign=True)
            if turns and (other := _holder(store, root, turns[-1])):
                heard = max((now - other.heard_at).total_seconds(), 0.0)
                if heard <= other.seconds:
                    left = other.seconds - heard
                    waiting(_waiting(root, other.owner, heard, left), left)
                    sleep(min(max(left, 0.1), seconds / 4, LONGEST_WAIT_SECONDS))
                    continue
            fencing = turns[-1].fencing + 1 if turns else 1
            asked = time.monotonic()
            # A contender that was slow may create a number that has come and gone: only the newest counts.
            if create(store, _key(root, fencing, 0), content) and _newest(store, root).fencing == fencing:
                return cls(store, root, fencing, claim, asked)

    def start(self) -> None:
        """Start the heartbeat, which sets `lost` when another process has the lease."""
        self._thread = Thread(target=self._beat_until_stopped, name=f"lease {self.fencing}", daemon=True)
        self._thread.start()

    def require_held(self) -> None:
        """Ask the store whether this process still holds the lease; once it was lost there is nothing to ask.

        Raises:
            LeaseLost: It does not, and stops: nothing of what it does from now on may be kept.
            InputError: The store cannot be asked.
        """
        if self.lost.is_set():
            raise LeaseLost(self._loss)
        self._require_newest()

    def release(self) -> None:
        """Stop the heartbeat and give the lease back; doing it again, or after a loss, changes nothing.

        Where the store cannot be reached the lease runs out by itself, and a warning says so.
        """
        self._stop.set()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)
        try:
            turns = self._require_newest()
            create(self._store, f"{self._root}{FOLDER}{self.fencing:08d}/released.json", self._content)
            self._tidy(turns)
        except LeaseLost:
            return  # it is another's, or given back already
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
                    # However long: while nobody has taken over, what is done meanwhile can still be kept, and a
                    # store that nobody reaches, nobody takes over.
                    silent = time.monotonic() - self._renewed
                    logger.warning("no heartbeat of the lease for %.0f s of %g: %s", silent, self._seconds, error)
                    pause = interval / 4
        finally:  # also where the heartbeat ends by what nobody foresaw
            if not self._stop.is_set():
                self.lost.set()

    def _beat(self) -> None:
        """Renew the lease. A beat that comes late counts, as long as nobody has taken over: a busy machine may pause.

        Raises:
            LeaseLost: Another process has the lease.
            InputError: The store cannot be used.
        """
        asked = time.monotonic()
        turns = self._require_newest()
        self._beats += 1  # each try its own name: what counts is when the store created it
        key = _key(self._root, self.fencing, self._beats)
        if not create(self._store, key, self._content):
            raise InputError(f"{key} is there already and is not of this process; leave the folder to tucano alone")
        self._renewed = asked
        self._tidy(turns)

    def _tidy(self, turns: list[_Turn]) -> None:
        """Delete what no reader needs any more of what was listed before the newest beat."""
        for turn in turns:
            if turn.fencing < self.fencing - 1:
                needless = [*turn.beats, *([turn.released] if turn.released else [])]
            else:
                needless = turn.beats[1:-1]
            for stored in needless:
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
            raise LeaseLost(
                f"the lease of training {training} was removed from the store by hand; this process stops: run the "
                "same command again"
            )
        if newest.released:
            raise LeaseLost(
                f"the lease of training {training} was given back; this process stops: run the same command again"
            )
        return turns


def holder(store: ObjectStore, root: str) -> Holder | None:
    """Return who holds the lease of a training; None where nobody does or its process is known to be gone.

    One that has been silent for longer than its lease lives holds it until another asks.

    Args:
        store: Where the training's checkpoints are.
        root: The key prefix of the training, with a slash at its end.

    Raises:
        InputError: The store cannot be used, or the newest lease is damaged.
    """
    turns = _turns(store, root)
    return _holder(store, root, turns[-1]) if turns else None


def _holder(store: ObjectStore, root: str, newest: _Turn) -> Holder | None:
    """Return who holds the newest number, unless it was given back or its process is known to be gone."""
    if newest.released:
        return None
    claim = _claim(store, newest)
    if claim is None:
        if _newest(store, root).fencing != newest.fencing:
            return None  # it was superseded, and deleted, since it was listed: claiming its place fails
        raise InputError(
            f"{newest.beats[0].key} is damaged or of a newer version; make sure that no other process trains "
            f"{_training(root)}, then put an empty file released.json beside it and run the same command again"
        )
    return None if is_gone(claim.owner) else Holder(claim.owner, claim.seconds, newest.beats[-1].created_at)


def _claim(store: ObjectStore, turn: _Turn) -> _Claim | None:
    """Return what the beats of a number say: all say the same, so the first that can be read will do."""
    for beat in turn.beats:
        try:
            return _Claim.model_validate_json(store.read(beat.key))
        except (ObjectMissing, ValidationError):
            logger.debug("%s cannot be read", beat.key)
    return None


def _turns(store: ObjectStore, root: str, *, refuse_foreign: bool = False) -> list[_Turn]:
    """Return what the store has of every fencing number, by number."""
    turns: dict[int, _Turn] = {}
    prefix = f"{root}{FOLDER}"
    for stored in store.list(prefix):
        name = _NAME.fullmatch(stored.key.removeprefix(prefix))
        if name is None:
            if refuse_foreign and not stored.key.endswith("/"):  # as consoles make where a folder is meant
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


def _waiting(root: str, owner: Owner, heard: float, left: float) -> str:
    return (
        f"the training {_training(root)} is held by process {owner.process} on machine {owner.machine}, last heard of "
        f"{heard:.0f} s ago; waiting until it gives it back, or for at most {math.ceil(left)} s if it stays silent"
    )


def _training(root: str) -> str:
    return root.rstrip("/").rpartition("/")[2]


def _key(root: str, fencing: int, beat: int) -> str:
    return f"{root}{FOLDER}{fencing:08d}/{beat:08d}.json"
