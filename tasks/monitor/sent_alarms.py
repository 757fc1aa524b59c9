"""Record of sent alarms, so that one drift starts one retraining, however often it is detected.

The alarm day moves with the monitored days. So an alarm is identified by its subject: the champion, the time of its
promotion, the evaluation behind the baseline, and the series or the floor of a task. Once it is over it may be sent
again; so it may if a replaced champion serves again, and fails again.
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
class SentAlarms:
    """Sent alarms of one champion."""

    folder: Path
    """Contains a marker file for each; created with the first."""
    champion: str
    """NAME/VERSION."""
    evaluation: str
    """The sha256 of the evaluation behind the baseline."""
    promoted_at: datetime | None
    """Time of its promotion; None if unknown."""

    def new(self, alarms: Collection[str]) -> list[str]:
        """Return the alarms not sent yet, and forget those that are over.

        Args:
            alarms: All present alarms (`alarms_of`).
        """
        for name in _NAMES:
            if name not in alarms:
                self._mark(name).unlink(missing_ok=True)
        return [alarm for alarm in alarms if not self._mark(alarm).exists()]

    def keep(self, alarms: Collection[str]) -> None:
        """Record alarms as sent."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for alarm in alarms:
            self._mark(alarm).touch()

    def _mark(self, alarm: str) -> Path:
        since = self.promoted_at and self.promoted_at.isoformat()
        subject = json.dumps([self.champion, self.evaluation, since, alarm])
        return self.folder / hashlib.sha256(subject.encode()).hexdigest()


def alarms_of(drift: Mapping[str, Any]) -> list[str]:
    """Return the subject of each alarm, once: `push`, `all`, or `push floor`.

    Args:
        drift: `drift` of `drift.json`.
    """
    alarms = [each["name"] for each in drift["series"] if each["alarm"]]
    return [*alarms, *dict.fromkeys(f"{each['task']} {_FLOOR}" for each in drift["floor"])]


_FLOOR = "floor"
_NAMES = [ALL, *TASK_NAMES, *(f"{task} {_FLOOR}" for task in TASK_NAMES)]
