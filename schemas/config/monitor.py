"""The configuration of monitoring: which logs of a served model are looked at, and what counts as drift."""

from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator

from schemas.section import Section


class MonitorConfig(Section):
    """What a served model answered, held against what its evaluation promised."""

    logs: Path | None = None
    """A file of logs, or a folder whose `.jsonl` and `.parquet` files are all read; the deployed flow needs it."""
    days: int = Field(default=35, ge=1, le=120)
    """Days that are looked at, back from the newest answer; what is older is counted and left out."""
    time_zone: str = "America/Sao_Paulo"
    """Whose midnight divides the days."""
    floor: float = Field(default=0.50, ge=0, le=1)
    """A task's mean reward of a day below this is an alarm whatever the baseline: the final report's fixed rule."""
    floor_answers: int = Field(default=30, ge=2)
    """Answers of a task in a day from which on the floor is asked for."""
    days_between_false_alarms: float = Field(default=3650.0, ge=30, le=1e6)
    """While nothing drifts, the mean time between two false alarms of drift is this long at least, over all tasks
    together, where days are looked at as they add up; for daily runs, each over the last `days`, that is simulated
    only. The floor's false alarms are as rare by themselves, so that both together come twice as often, at most."""
    tolerance: float = Field(default=0.02, ge=0, lt=1)
    """A loss of mean reward that is no drift."""
    workers: int = Field(default=2, ge=1, le=64)
    """Processes that score."""

    @field_validator("time_zone")
    @classmethod
    def _zone_exists(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"{name!r} is no time zone; give a name such as America/Sao_Paulo") from None
        return name
