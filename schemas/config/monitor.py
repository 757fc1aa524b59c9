"""Configuration of monitoring: the logs to read, and the definition of drift."""

from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator

from schemas.config.section import Section


class MonitorConfig(Section):
    """A served model's answers against its evaluation."""

    logs: Path | None = None
    """File or folder of logs; the gateway's."""
    days: int = Field(default=35, ge=1, le=120)
    """Days to monitor, back from the newest answer."""
    time_zone: str = "America/Sao_Paulo"
    """Time zone that decides where a day begins."""
    floor: float = Field(default=0.50, ge=0, le=1)
    """Mean reward of a day below which a task gives an alarm."""
    floor_answers: int = Field(default=30, ge=2)
    """Fewest answers of a day for which the floor applies."""
    days_between_false_alarms: float = Field(default=3650.0, ge=30, le=1e6)
    """Least mean time between two false alarms of drift."""
    tolerance: float = Field(default=0.02, ge=0, lt=1)
    """Loss of mean reward that does not count."""
    feedback_is_a_sample: bool = False
    """Whether answers with feedback were drawn at random."""
    latency_ms: float = Field(default=10_000.0, gt=0)
    """Milliseconds from which an answer is late; more than 5 % late give an alarm."""
    silence_hours: float = Field(default=24.0, gt=0)
    """Hours without any answer that give an alarm."""
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
