"""Logs that hide useless answers, and healthy logs that look strange."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from benchmarks.useless.answers import refusals, right
from benchmarks.useless.world import GOOD_DAYS, NOW, Answer, Asked, Line, World, line

DAYS: Final = 21
EACH: Final = 20
"""Answers of a task in a day, where nothing else is said."""


@dataclass(frozen=True)
class Log:
    """A log, and what is to be expected of it."""

    lines: list[Line]
    feedback: list[Line] = field(default_factory=list)
    first_bad: int = GOOD_DAYS
    config: Mapping[str, Any] = field(default_factory=dict)


def hidden(world: World) -> dict[str, Log]:
    """Return logs whose answers are useless from a day on, by what hides that."""

    def other(asked: Asked, number: int) -> str:
        prompts = world.asked[asked.task]
        return prompts[(number * 7 + 13) % len(prompts)].right

    def refused(_: Asked, number: int) -> str:
        texts = refusals(held_out=True)
        return texts[number % len(texts)]

    def log(bad: Answer, each: int = EACH) -> list[Line]:
        return [*world.days(0, GOOD_DAYS, each, right), *world.days(GOOD_DAYS, DAYS - GOOD_DAYS, each, bad)]

    bad = log(refused)
    is_bad = [moment(each) >= day_of(GOOD_DAYS) for each in bad]
    wrong = log(other)
    told = [{**each, "request_id": f"{each['task']}-{number:032x}"} for number, each in enumerate(wrong)]
    references = {(each.task, each.prompt): each.reference for prompts in world.asked.values() for each in prompts}
    known = {each["request_id"]: references[each["task"], each["prompt"]] for each in told}
    before = [each for each in told if moment(each) < day_of(GOOD_DAYS)]
    return {
        "refusals, one more in a hundred each day": Log(
            [*_by_day(world, 30, lambda day, number: refused if number * 7 % 100 < day else right)], first_bad=0
        ),
        "refusals every other day": Log(
            [*_by_day(world, DAYS, lambda day, _: refused if day >= GOOD_DAYS and day % 2 else right)]
        ),
        "refusals for one shop in ten": Log(
            [*_by_day(world, DAYS, lambda day, number: right if day < GOOD_DAYS or number % 10 else refused)]
        ),
        "refusals in push alone, others asked ten times as often": Log(
            [*_masked(world, refused)],
        ),
        "refusals, two answers a day": Log(log(refused, 2)),
        "refusals beside good answers that are logged five times": Log(
            [each for line_, bad_ in zip(bad, is_bad, strict=True) for each in ([line_] if bad_ else [line_] * 5)]
        ),
        "refusals in lines in no order": Log(random.Random(1).sample(bad, len(bad))),
        "refusals in other time zones": Log([_in_zone(each, number) for number, each in enumerate(bad)]),
        "refusals without a model_version": Log(
            [{**each, "model_version": None} if bad_ else each for each, bad_ in zip(bad, is_bad, strict=True)]
        ),
        "wrong answers, no reference": Log(wrong),
        "wrong answers, references in the log": Log(
            [{**each, "reference": known[each["request_id"]]} for each in told]
        ),
        "wrong answers, references of the good ones alone": Log(
            [{**each, "reference": known[each["request_id"]]} if each in before else each for each in told]
        ),
        "wrong answers, feedback on the good ones alone": Log(told, [_correction(each, known) for each in before]),
        "wrong answers, one in five corrected": Log(
            told, [_correction(each, known) for each in told[::5] if each not in before]
        ),
        "wrong answers, one in five corrected, said to be a sample": Log(
            told,
            [_correction(each, known) for each in told[::5]],
            config={"feedback_is_a_sample": True},
        ),
    }


def refused_logs(world: World) -> dict[str, list[Line | str]]:
    """Return logs that monitoring must refuse, since half of a log read would be worse."""
    lines: list[Line | str] = [*world.days(0, DAYS, EACH, right)]
    late = line(world.asked["push"][0], 60, 0.0, "Oferta!")
    same: list[Line | str] = [{**each, "request_id": "r-1"} for each in world.days(0, 1, 2, right)]
    return {
        "a time to come": [*lines, late],
        "a broken line": ['{"task": "push"', *lines],
        "one request_id twice": same,
    }


def healthy(world: World) -> dict[str, Log]:
    """Return logs of right answers."""

    def not_at_first(asked: Asked, number: int) -> str:
        # What right answers may begin with, and refusals do too.
        return f"Não perca! {asked.right}" if asked.task == "push" and number % 2 else asked.right

    week = [*world.days(0, 30, EACH, right)]
    happy = [
        each
        for each in week
        if each["task"] not in ("sentiment", "extraction") or '"positive"' in each["completion"] or _one_in(each, 4)
    ]
    bot = [line(world.asked["sql_qa"][0], day, 0.5, world.asked["sql_qa"][0].right) for day in range(30)] * 200
    return {
        "right answers": Log(week),
        "right answers, 100 a day": Log([*world.days(0, 14, 100, right)]),
        "nine reviews in ten are happy": Log(happy),
        "one question 200 times a day": Log([*week, *bot]),
        "no answer on Sundays": Log([each for each in week if moment(each).weekday() != 6]),
        "ten times as many on one day": Log([*week, *world.days(20, 1, 200, right)]),
        "pushes that begin with Não perca": Log([*world.days(0, 30, EACH, not_at_first)]),
        "references of one in ten": Log([{**each, **_known(world, each)} for each in week]),
    }


def moment(each: Line) -> datetime:
    """Return a line's time."""
    return datetime.fromisoformat(each["time"])


def day_of(number: int) -> datetime:
    """Return the beginning of a day of the log."""
    return (NOW - timedelta(days=30 - number)).replace(hour=0)


def _by_day(world: World, days: int, answer: Any) -> Iterator[Line]:
    for day in range(days):
        yield from world.days(day, 1, EACH, lambda asked, number, day=day: answer(day, number)(asked, number))  # type: ignore[misc]


def _masked(world: World, bad: Answer) -> Iterator[Line]:
    for each in world.days(0, DAYS, EACH * 10, right):
        if each["task"] != "push":
            yield each
    for each in world.days(0, GOOD_DAYS, EACH, right):
        if each["task"] == "push":
            yield each
    for each in world.days(GOOD_DAYS, DAYS - GOOD_DAYS, EACH, bad):
        if each["task"] == "push":
            yield each


def _in_zone(each: Line, number: int) -> Line:
    zone = timezone(timedelta(hours=number % 25 - 11))
    return {**each, "time": moment(each).astimezone(zone).isoformat()}


def _correction(each: Line, known: Mapping[str, Any]) -> Line:
    return {"request_id": each["request_id"], "time": NOW.isoformat(), "reference": known[each["request_id"]]}


def _one_in(each: Line, count: int) -> bool:
    return len(each["prompt"]) % count == 0


def _known(world: World, each: Line) -> Line:
    (asked,) = [one for one in world.asked[each["task"]] if one.prompt == each["prompt"]]
    return {"reference": asked.reference} if _one_in(each, 10) else {}
