"""Champion with an evaluation and a log, whose answers are known to be good or useless.

Prompts and right answers are of a simulated store. The log has good days, then others; it is written as the gateway
writes it, and read, scored and compared by the stage itself.
"""

import json
import random
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from flows.stages.monitor import scrubbed_texts
from schemas.config.evaluate import CostConfig
from schemas.config.monitor import MonitorConfig
from schemas.store.files import write_store
from schemas.tables.log_file import log_files
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS, joint_version, reward_versions
from tasks.monitor.drift import ALL
from tasks.monitor.stage import ServingChampion, read_monitoring, run
from tasks.synthesize.simulated import simulate_store

SEED: Final = 29
ORDERS: Final = 4_000
TESTED: Final = 60
"""Prompts a task in the evaluation."""
ASKED: Final = 80
"""Different prompts a task in the logs."""
GOOD_DAYS: Final = 7
NOW: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)
WORDINGS: Final[Mapping[str, list[str]]] = tomllib.loads(
    (Path(__file__).parent / "wordings.toml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Asked:
    """A prompt with its right answer."""

    task: TaskName
    prompt: str
    right: str
    reference: Mapping[str, Any]


Answer = Callable[[Asked, int], str]
"""Answers a prompt; the number says which of the log's answers to the task it is."""
Line = dict[str, Any]


@dataclass(frozen=True)
class World:
    """The store's folder, and what is asked of each task."""

    store: Path
    tested: Mapping[TaskName, Sequence[Asked]]
    asked: Mapping[TaskName, Sequence[Asked]]

    def champion(self, folder: Path, answer: Answer) -> ServingChampion:
        """Return a champion that answered the test split so."""
        file = folder / "rollouts.jsonl"
        with file.open("w", encoding="utf-8") as lines:
            for task, prompts in self.tested.items():
                for number, each in enumerate(prompts):
                    rollout = {
                        "prompt_id": f"{task}-{number}",
                        "task": task,
                        "prompt": each.prompt,
                        "completion": answer(each, number),
                        "reference": each.reference,
                    }
                    lines.write(json.dumps(rollout, ensure_ascii=False) + "\n")
        return ServingChampion(
            model="tucano2-commerce",
            version="3",
            alias="champion",
            spec="grounded",
            reward_version=joint_version(),
            reward_versions=reward_versions(),
            answers=file,
            store=self.store,
            promoted_at=NOW - timedelta(days=200),
        )

    def days(self, first: int, count: int, each: int, answer: Answer) -> Iterator[Line]:
        """Yield a log's lines of some days, each task's answers over the whole day.

        Args:
            first: The first day, from 0.
            count: Days.
            each: Answers of a task in a day.
            answer: What is answered.
        """
        for day in range(first, first + count):
            for prompts in self.asked.values():
                for number in range(each):
                    place = (day * each + number) % len(prompts)
                    yield line(prompts[place], day, number / each, answer(prompts[place], day * each + number))


def line(asked: Asked, day: int, of_day: float, completion: str, **values: Any) -> Line:
    """Return one line of a log.

    Args:
        asked: The prompt.
        day: From 0, the first day of the log.
        of_day: Time as a share of the day's twelve hours.
        completion: The answer.
        values: Further keys.
    """
    time = NOW - timedelta(days=30 - day) + timedelta(hours=10 * of_day)
    return {
        "task": asked.task,
        "prompt": asked.prompt,
        "completion": completion,
        "time": time.isoformat(),
        "latency_ms": 800.0,
        "model_version": "tucano2-commerce/3",
        **values,
    }


def make_world(folder: Path) -> World:
    """Write a simulated store, and make prompts of it."""
    store = simulate_store(ORDERS, random.Random(SEED))
    write_store(store, folder / "store")
    tested, asked = {}, {}
    for task in TASK_NAMES:
        made = [
            Asked(task, each.prompt, TASKS[task].answer(each.reference), each.reference)
            for each in EXAMPLE_MAKERS[task](store, random.Random(SEED), TESTED + ASKED)
        ]
        tested[task], asked[task] = made[:TESTED], made[TESTED:]
    return World(folder / "store", tested, asked)


@dataclass(frozen=True)
class Alarm:
    """First alarm of a task."""

    days: int
    """From the first bad day to it, that day included."""
    measures: tuple[str, ...]
    """What fell."""


def alarms(
    world: World,
    lines: Sequence[Line | str],
    *,
    was: Answer,
    first_bad: int = GOOD_DAYS,
    feedback: Sequence[Line] = (),
    **config: Any,
) -> dict[str, Alarm]:
    """Return the first alarm of each task, and of `all`, that monitoring of a log raises.

    Args:
        world: The prompts.
        lines: The log; a text is written as it is.
        was: How the champion answered the test split.
        first_bad: Day from which on answers are useless.
        feedback: Lines of feedback.
        config: Settings of monitoring.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "logs" / "feedback").mkdir(parents=True)
        (folder / "out").mkdir()
        _write(folder / "logs" / "log.jsonl", lines)
        if feedback:
            _write(folder / "logs" / "feedback" / "said.jsonl", feedback)
        files = log_files(folder / "logs")
        run(
            files,
            files.digests(),
            MonitorConfig(time_zone="UTC", **config),
            CostConfig(),
            world.champion(folder, was),
            scrub=scrubbed_texts,
            map_chunks=_here,
            now=NOW,
            output=folder / "out",
        )
        drift = read_monitoring(folder / "out")["drift"]
    found: dict[str, dict[str, int]] = {}
    first = (NOW - timedelta(days=30 - first_bad)).date()
    for series in drift["series"]:
        if series["alarm"]:
            day = (date.fromisoformat(series["alarm"]) - first).days + 1
            found.setdefault(series["name"], {})[series["measure"]] = day
    for floor in drift["floor"]:
        day = (date.fromisoformat(floor["day"]) - first).days + 1
        of_task = found.setdefault(floor["task"], {})
        of_task["floor"] = min(day, of_task.get("floor", day))
    return {
        name: Alarm(min(days.values()), tuple(each for each, day in days.items() if day == min(days.values())))
        for name, days in found.items()
        if name in (ALL, *TASK_NAMES)
    }


def _here(function: Callable[[Any], Any], things: Sequence[Any]) -> Iterator[Any]:
    return map(function, things)


def _write(file: Path, lines: Sequence[Line | str]) -> None:
    written = (each if isinstance(each, str) else json.dumps(each, ensure_ascii=False) for each in lines)
    file.write_text("".join(f"{each}\n" for each in written), encoding="utf-8")
