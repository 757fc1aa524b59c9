"""Configuration of serving (engine, limits, log, a new champion) and of monitoring (logs to read, drift)."""

from pathlib import Path
from typing import Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator, model_validator

from schemas.config.section import Section, ServerUrl, VariableName
from schemas.tasks import TaskName

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class ServeConfig(Section):
    """The gateway of `tucano serve`, and its engine."""

    host: str = Field(default="127.0.0.1", min_length=1)
    """Address to listen on; any but loopback needs `token_variable`."""
    port: int = Field(default=8080, ge=1, le=65535)
    """Port to listen on."""
    token_variable: VariableName | None = None
    """NAME of the environment variable with the bearer tokens."""
    engine_url: ServerUrl | None = None
    """Base URL of an engine, such as vLLM's server, that serves `champion`; this machine draws if not set."""
    concurrency: int = Field(default=32, ge=1, le=1024)
    """Requests that the engine answers at once."""
    queue: int = Field(default=128, ge=0, le=10_000)
    """Requests that wait; a further one gets 429."""
    deadline_seconds: float = Field(default=60.0, gt=0, le=3600)
    """Longest time of a request; then 504."""
    body_bytes: int = Field(default=65_536, ge=1024, le=16_000_000)
    """Largest body of a request."""
    seconds_to_send: float = Field(default=10.0, gt=0, le=600)
    """Longest time that a client takes to send."""
    guided: bool = True
    """Guide answers of all tasks but SQL by their grammars."""
    answer_all: bool = False
    """Answer tasks that were not found learned too."""
    refuse: tuple[TaskName, ...] = ()
    """Tasks that get 422."""
    require_log: bool = True
    """Refuse to answer where the answer cannot be logged."""
    log_days: int = Field(default=90, ge=1, le=3650)
    """Days that logs and feedback are kept."""
    follow_seconds: float = Field(default=15.0, gt=0, le=3600)
    """Time between two looks for a new champion."""
    golden_prompts: int = Field(default=20, ge=0, le=500)
    """Evaluated prompts that a version must answer as it did then."""
    golden_tolerance: float = Field(default=0.1, ge=0, le=1)
    """Most that their mean reward may fall."""

    @property
    def is_on_loopback(self) -> bool:
        """Whether only this machine reaches the gateway."""
        return self.host in LOOPBACK

    @model_validator(mode="after")
    def _others_need_a_token(self) -> Self:
        if not self.is_on_loopback and self.token_variable is None:
            raise ValueError(
                f"host {self.host!r} is reached by other machines, and token_variable is not set; set it to the NAME "
                "of the variable that holds the tokens, or host to '127.0.0.1'"
            )
        return self


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
