"""Alarms of a training that ended, raised again from its summary: the rules and what they read are all there."""

from collections.abc import Mapping
from typing import Any

from schemas.config.train_sections import AlarmsSection
from tasks.train.watch.alarms import Alarm, Alarms
from tasks.train.watch.validated import Validation


def past_alarms(summary: Mapping[str, Any], section: AlarmsSection, iterations: int) -> list[Alarm]:
    """Return the alarms of a training, by step.

    Args:
        summary: Its training.json; a summary of several trainings has no log, and so no alarms.
        section: The limits that it ran under.
        iterations: Optimizer steps on the same completions.
    """
    alarms = Alarms(section, iterations)
    found: list[Alarm] = []
    if not summary.get("log"):
        return found
    first, *_ = history = [Validation.model_validate(each) for each in summary["validation"]]
    by_step = {each.step: each for each in history}
    for entry in summary["log"]:
        found += alarms.step(entry["step"], entry)
        if entry["step"] in by_step:
            found += alarms.validation(first, by_step[entry["step"]])
    return found
