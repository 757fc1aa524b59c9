"""Record of sent alarms, so that one drift starts one retraining, however often it is detected.

The alarm day moves with the monitored days. So an alarm is identified by its subject: of drift, the champion, the time
of its promotion, the evaluation behind the baseline, and the task or all of them, whatever of it fell; of the service,
the model and the kind of alarm. Once it is over it may be sent again; so it
may if a replaced champion serves again, and fails again.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from schemas.tasks import TASK_NAMES
from tasks.monitor.drift import ALL

DRIFT_NAMES: Final = (ALL, *TASK_NAMES)
"""Possible alarms of drift."""


@dataclass(frozen=True)
class SentAlarms:
    """Sent alarms of one champion, or of the service."""

    folder: Path
    """Contains a marker file for each; created with the first."""
    champion: str
    """NAME/VERSION; the model's name where the alarms are of the service."""
    evaluation: str | None = None
    """The sha256 of the evaluation behind the baseline."""
    promoted_at: datetime | None = None
    """Time of its promotion; None if unknown."""

    def new(self, alarms: Collection[str], possible: Collection[str] = DRIFT_NAMES) -> list[str]:
        """Return the alarms not sent yet, and forget those that are over.

        Args:
            alarms: All present alarms.
            possible: The alarms that were looked for.
        """
        for name in possible:
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
    """Return the subject of each alarm of drift, once: `push` or `all`.

    Args:
        drift: `drift` of `drift.json`.
    """
    alarms = {each["name"] for each in drift["series"] if each["alarm"]} | {each["task"] for each in drift["floor"]}
    return [name for name in DRIFT_NAMES if name in alarms]
