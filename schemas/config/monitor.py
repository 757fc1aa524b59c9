"""Configuration of monitoring: the logs to read, and the definition of drift."""

from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator

from schemas.config.section import Section


class MonitorConfig(Section):
    """Comparison of a served model's answers with its evaluation."""

    logs: Path | None = None
    """A file of logs, or a folder whose `.jsonl` and `.parquet` files are all read; `logs` in the state folder where
    not set, into which `tucano serve` writes."""
    days: int = Field(default=35, ge=1, le=120)
    """Days to monitor, back from the newest answer; older answers are counted and left out."""
    time_zone: str = "America/Sao_Paulo"
    """Time zone that decides where a day begins."""
    floor: float = Field(default=0.50, ge=0, le=1)
    """A task's mean reward of a day below this is an alarm whatever the baseline: the V4.2 report's fixed rule."""
    floor_answers: int = Field(default=30, ge=2)
    """Fewest answers of a task in a day for which the floor applies."""
    days_between_false_alarms: float = Field(default=3650.0, ge=30, le=1e6)
    """Mean time between two false alarms of drift, at least, over all tasks together, while nothing drifts and each new
    day is monitored once; for daily runs, each over the last `days`, that is known by simulation only. The floor's
    false alarms are as rare by themselves, so that both together come twice as often, at most."""
    tolerance: float = Field(default=0.02, ge=0, lt=1)
    """A loss of mean reward that does not count: as drift, and as a challenger's difference from the champion."""
    feedback_is_a_sample: bool = False
    """Whether the answers that get a reference by feedback were drawn at random. Otherwise people chose what to
    correct, so that every answer without a reference counts as right where corrected ones are compared."""
    latency_ms: float = Field(default=10_000.0, gt=0)
    """Milliseconds from which an answer is late; that more than one in twenty of a day's answers are, by more than
    luck, is an alarm."""
    cost_per_analysis: float | None = Field(default=None, gt=0)
    """Mean US dollars that were logged for an answer of a day above which there is an alarm; the API's price
    (`evaluate.cost.api_price_per_analysis`) where not set."""
    silence_hours: float = Field(default=24.0, gt=0)
    """Hours without any answer, where there were some, after which there is an alarm. A shop with less than some ten
    answers a day, or none on Sundays, needs more."""
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
