"""Checks of the checkpoints' promises against the workers' records and the store's content at every moment."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Final

from benchmarks.checkpoints.course import Course, Event
from benchmarks.checkpoints.worker import KEPT
from tasks.checkpoints.catalog import BLOBS, MANIFESTS, PINS
from tasks.checkpoints.manifest import Manifest, is_live, parse_name
from tasks.checkpoints.segments import FOLDER as SEGMENTS
from tests.tasks.train.small_request import TRAINING

LOST: Final = "a checkpoint that was reported as saved is lost"
PASSED_OVER: Final = "a checkpoint is passed over that could have been resumed from"
SILENT: Final = "a damaged checkpoint is passed over without a word"
OTHER_BYTES: Final = "bytes that are resumed from are not those that were saved"
REPLACED: Final = "what a worker did after its successor began is taken"
PRUNED: Final = "retention removes what it has to keep"
NOT_REPAIRED: Final = "what was found damaged is not replaced by the next publication"
UNFORESEEN: Final = "a worker ends by what nobody foresaw"
DEADLOCK: Final = "a worker does not end"
PROMISES: Final = (LOST, PASSED_OVER, SILENT, OTHER_BYTES, REPLACED, PRUNED, NOT_REPAIRED, UNFORESEEN, DEADLOCK)


@dataclass
class Verdict:
    """Figures and broken promises."""

    counts: Counter[str] = field(default_factory=Counter)
    broken: dict[str, list[str]] = field(default_factory=lambda: {promise: [] for promise in PROMISES})


@dataclass(frozen=True)
class _Search:
    """State that a worker could know when it began to look for a checkpoint."""

    begun: Mapping[int, int]
    live: tuple[str, ...]
    """Names of the checkpoints that were reported as saved and that the training had not continued without."""
    damaged: frozenset[str]
    """Those of `live` that the store had damaged."""


class _Replay:
    """Replay of one training's events, in order."""

    def __init__(self, course: Course, verdict: Verdict) -> None:
        self._course = course
        self._verdict = verdict
        self._present: dict[str, bool] = {}
        """Whether each object of the store is whole."""
        self._struck: set[str] = set()
        """Objects that the store damaged or lost by itself, until they are created again."""
        self._manifests: dict[str, Manifest] = {}
        self._begun: dict[int, int] = {}
        self._made: dict[str, dict[str, str]] = {}
        self._saved: set[str] = set()
        self._retired: set[str] = set()
        self._searches: dict[int, _Search] = {}
        self._said: dict[int, list[str]] = {}
        self._known: dict[int, set[str]] = {}
        """Damaged objects that a life has read, as it reported."""

    def run(self) -> None:
        """Check every event."""
        for event in self._course.events:
            handler = getattr(self, f"_on_{event['event'].split()[0]}", None)
            if handler is not None:
                handler(event)

    def _on_created(self, event: Event) -> None:
        key, content = event["key"], event["content"]
        part, name = _part(key), PurePosixPath(key).stem
        self._struck.discard(key)
        self._present[key] = part != BLOBS or sha256(content).hexdigest() == name
        if part == MANIFESTS:
            self._manifests[name] = Manifest.from_bytes(content)
            self._retired.discard(name)
        elif part == SEGMENTS and name.endswith("-begin"):
            fencing = int(name.partition("-")[0])
            # A search that begins after its successor's is a frozen worker's, and does not count.
            if fencing > max(self._begun, default=0):
                self._begun[fencing] = json.loads(content)["from_step"]

    def _on_deleted(self, event: Event) -> None:
        key = event["key"]
        part, name = _part(key), PurePosixPath(key).stem
        was_whole = self._present.pop(key, False)
        if part == MANIFESTS:
            kept = [
                other
                for other in self._names(MANIFESTS)
                if other > name and self._is_live(other) and self._present[_manifest_key(other)]
            ]
            pinned = name in self._names(PINS)
            if was_whole and (pinned or (self._is_live(name) and len(kept) < KEPT)):
                self._break(PRUNED, f"the manifest {name} with {len(kept)} newer ones" + ", pinned" * pinned)
            self._retired.add(name)
        elif part == PINS:
            place = parse_name(name)
            others = [parse_name(other) for other in self._names(PINS)]
            if place is not None and not any(other is not None and other[1] >= place[1] for other in others):
                self._break(PRUNED, f"the pin of {name}, for one of an older fencing number")

    def _on_corrupted(self, event: Event) -> None:
        self._struck.add(event["key"])
        self._present[event["key"]] = False

    def _on_lost(self, event: Event) -> None:
        self._struck.add(event["key"])
        self._present.pop(event["key"], None)

    def _on_made(self, event: Event) -> None:
        self._made[event["name"]] = event["digests"]

    def _on_saved(self, event: Event) -> None:
        name = event["name"]
        self._verdict.counts["reported as saved"] += 1
        self._saved.add(name)
        for key in self._objects(name):
            # Bytes that the store damaged and nobody has read since look whole.
            is_known = key not in self._present or key in self._known.get(event["life"], set())
            if is_known and not self._present.get(key, False) and name not in self._retired:
                self._break(NOT_REPAIRED, f"{name} was reported as saved with {key}, life {event['life']}")

    def _on_searches(self, event: Event) -> None:
        live = [name for name in self._saved if self._is_live(name) and name not in self._retired]
        damaged = set()
        for name in live:
            bad = [key for key in self._objects(name) if not self._present.get(key, False)]
            if bad:
                damaged.add(name)
            # Lost objects that only a manifest named are pruned in time.
            if _manifest_key(name) not in self._struck and (lost := [key for key in bad if key not in self._struck]):
                self._break(LOST, f"{name} lacks {lost[0]}")
        self._searches[event["life"]] = _Search(dict(self._begun), tuple(sorted(live)), frozenset(damaged))

    def _on_warning(self, event: Event) -> None:
        self._said.setdefault(event["life"], []).append(event["sentence"])

    def _on_alarm(self, event: Event) -> None:
        self._on_warning(event)
        if event["name"] == "checkpoint":
            self._verdict.counts["passed over"] += 1
            read = [name for name in self._manifests if name in event["sentence"]]
            bad = {key for name in read for key in self._objects(name) if not self._present.get(key, False)}
            self._known.setdefault(event["life"], set()).update(bad)

    def _on_began(self, event: Event) -> None:
        life, found = event["life"], event["found"]
        search = self._searches[life]
        # One that was replaced meanwhile decides nothing.
        if max(self._begun) > event["fencing"]:
            return
        self._verdict.counts["searches that found one"] += found is not None
        whole = [name for name in search.live if name not in search.damaged]
        if whole and (found is None or found < whole[-1]):
            self._break(PASSED_OVER, f"{whole[-1]}, and life {life} resumed from {found}")
        said = " ".join(self._said.get(life, []))
        for name in search.damaged:
            if (found is None or name > found) and _manifest_key(name) in self._present and name not in said:
                self._break(SILENT, f"{name}, and life {life} resumed from {found}")
        if found is None:
            return
        if event["digests"] != self._made.get(found):
            self._break(OTHER_BYTES, f"{found} in life {life}")
        place = parse_name(found)
        if place is None or not is_live(*place, search.begun):
            self._break(REPLACED, f"{found} in life {life}")
        for step, fencing in enumerate(event["history"], start=1):
            by = max(number for number, from_step in search.begun.items() if from_step < step)
            if fencing != by:
                self._break(REPLACED, f"step {step} of {fencing} and not of {by}, in {found} in life {life}")

    def _on_ended(self, event: Event) -> None:
        # By itself, or since no heartbeat got through or another worker took over.
        if event["kind"] not in ("", "LeaseLost"):
            self._break(UNFORESEEN, f"life {event['life']}: {event['sentence']}")

    def _on_crashed(self, event: Event) -> None:
        self._break(UNFORESEEN, f"life {event['life']}: {event['sentence'].splitlines()[-1]}")

    def _is_live(self, name: str) -> bool:
        place = parse_name(name)
        return place is not None and is_live(*place, self._begun)

    def _names(self, part: str) -> list[str]:
        return [PurePosixPath(key).stem for key in self._present if _part(key) == part]

    def _objects(self, name: str) -> list[str]:
        files = self._manifests[name].files.values()
        return [_manifest_key(name), *(f"{TRAINING}/{BLOBS}{file.sha256}" for file in files)]

    def _break(self, promise: str, what: str) -> None:
        self._verdict.broken[promise].append(f"course {self._course.number}: {what}")


def check(course: Course, verdict: Verdict) -> None:
    """Add the results of one training."""
    _Replay(course, verdict).run()
    verdict.broken[DEADLOCK] += course.deadlocks


def _part(key: str) -> str:
    below = key.removeprefix(f"{TRAINING}/")
    return next((part for part in (BLOBS, MANIFESTS, PINS, SEGMENTS) if below.startswith(part)), "")


def _manifest_key(name: str) -> str:
    return f"{TRAINING}/{MANIFESTS}{name}.json"
