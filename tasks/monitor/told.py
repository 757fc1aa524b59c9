"""Which alarms were told already, so that one drift starts one retraining, however often it is looked at.

The day on which the evidence is enough moves as the days that are looked at do. So an alarm is known by what it is of:
the champion, since when it serves, the evaluation that promised, and the series or the floor of a task. Once it is over
it may be told again; and so it may where a champion that another one replaced serves again, and fails again.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from schemas.tasks import TASK_NAMES
from tasks.monitor.drift import ALL


@dataclass(frozen=True)
class Told:
    """The alarms of one champion that were told."""

    folder: Path
    """Holds a mark for each; made with the first."""
    champion: str
    """NAME/VERSION."""
    evaluation: str
    """The sha256 of the evaluation that promised."""
    promoted_at: datetime | None
    """Since when it serves; None where that is not known."""

    def new(self, alarms: Collection[str]) -> list[str]:
        """Return the alarms that were not told yet, and forget those that are over.

        Args:
            alarms: All that there are (`alarms_of`).
        """
        for name in _NAMES:
            if name not in alarms:
                self._mark(name).unlink(missing_ok=True)
        return [alarm for alarm in alarms if not self._mark(alarm).exists()]

    def keep(self, alarms: Collection[str]) -> None:
        """Mark alarms as told."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for alarm in alarms:
            self._mark(alarm).touch()

    def _mark(self, alarm: str) -> Path:
        since = self.promoted_at and self.promoted_at.isoformat()
        told = json.dumps([self.champion, self.evaluation, since, alarm])
        return self.folder / hashlib.sha256(told.encode()).hexdigest()


def alarms_of(drift: Mapping[str, Any]) -> list[str]:
    """Return what the alarms are of, each once: `push`, `all`, or `push floor`.

    Args:
        drift: `drift` of `drift.json`.
    """
    alarms = [each["name"] for each in drift["series"] if each["alarm"]]
    return [*alarms, *dict.fromkeys(f"{each['task']} {_FLOOR}" for each in drift["floor"])]


_FLOOR = "floor"
_NAMES = [ALL, *TASK_NAMES, *(f"{task} {_FLOOR}" for task in TASK_NAMES)]
