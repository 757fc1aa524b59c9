"""Page of the last 24 hours: answers by task, version and hour, from the log, without any text of anybody."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl

from schemas.config.report import Language
from tasks.report.language import spoken
from tasks.report.page import page_template
from tasks.serve.gateway.answer_log import SUFFIX

HOURS: Final = 24
TEMPLATE: Final = Path(__file__).with_name("dashboard.html.j2")
READ: Final = {
    "time": pl.String,
    "task": pl.String,
    "model_version": pl.String,
    "role": pl.String,
    "latency_ms": pl.Float64,
    "valid": pl.Boolean,
    "reward": pl.Float64,
    "tokens": pl.Int64,
}
"""Columns of the log that are read."""
WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "title": "The last day",
        "ready": "answering",
        "not ready": "not answering",
        "answers": "answers",
        "valid": "usable",
        "p50": "latency p50, ms",
        "p95": "latency p95, ms",
        "form": "reward of form",
        "tokens": "tokens, mean",
        "task": "task",
        "version": "version",
        "role": "role",
        "by task": "By task",
        "by version": "By version",
        "by hour": "Answers by hour (UTC)",
        "nothing": "Nothing was answered in the last 24 hours.",
        "note": "What the log has of the last 24 hours. Usable: something of the answer was sent; whether it is "
        "right, tucano monitor says where references are known. Reward of form: of a sample, without a reference.",
        "other": "Português",
    },
    "pt": {
        "title": "O último dia",
        "ready": "em serviço",
        "not ready": "fora de serviço",
        "answers": "respostas",
        "valid": "utilizáveis",
        "p50": "latência p50, ms",
        "p95": "latência p95, ms",
        "form": "recompensa de forma",
        "tokens": "tokens, média",
        "task": "tarefa",
        "version": "versão",
        "role": "papel",
        "by task": "Por tarefa",
        "by version": "Por versão",
        "by hour": "Respostas por hora (UTC)",
        "nothing": "Nenhuma resposta nas últimas 24 horas.",
        "note": "O que o log tem das últimas 24 horas. Utilizável: algo da resposta foi enviado; se ela "
        "está certa, tucano monitor diz onde há referências. Recompensa de forma: de uma amostra, sem referência.",
        "other": "English",
    },
}


@dataclass(frozen=True)
class DayFigures:
    """Figures of some answers."""

    names: tuple[str, ...]
    answers: int
    valid: float
    """Share."""
    p50: float
    """Milliseconds."""
    p95: float
    form: float | None
    """Mean reward of the sampled ones' form; None where none was sampled."""
    tokens: float


@dataclass(frozen=True)
class LastDay:
    """Figures of the last 24 hours."""

    by_task: tuple[DayFigures, ...]
    by_version: tuple[DayFigures, ...]
    by_hour: tuple[tuple[str, int], ...]
    """Hour (UTC), and its answers, the oldest first; 24 of them."""


def last_day(logs: Path, now: datetime) -> LastDay:
    """Read the log of the last 24 hours.

    Args:
        logs: Folder of the log.
        now: The present, with its zone.
    """
    now = now.astimezone(UTC)
    days = (now - timedelta(days=1), now)
    files = [path for day in days if (path := logs / f"{day:%Y-%m-%d}{SUFFIX}").is_file() and path.stat().st_size]
    read = [pl.read_ndjson(path, schema=READ) for path in files]
    table = pl.concat(read) if read else pl.DataFrame(schema=READ)
    time = pl.col("time").str.to_datetime(time_zone="UTC", strict=False)
    table = table.with_columns(time).filter(pl.col("time") > now - timedelta(hours=HOURS))
    counts = dict(table.group_by(pl.col("time").dt.truncate("1h")).len().rows())
    first = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=HOURS - 1)
    hours = [first + timedelta(hours=number) for number in range(HOURS)]
    return LastDay(
        by_task=_figures(table.filter(pl.col("role") != "shadow"), "task"),
        by_version=_figures(table, "model_version", "role"),
        by_hour=tuple((f"{hour:%H}", counts.get(hour, 0)) for hour in hours),
    )


def _figures(table: pl.DataFrame, *keys: str) -> tuple[DayFigures, ...]:
    milliseconds = pl.col("latency_ms")
    rows = (
        table.group_by(keys)
        .agg(
            pl.len().alias("answers"),
            pl.col("valid").mean(),
            milliseconds.quantile(0.5).alias("p50"),
            milliseconds.quantile(0.95).alias("p95"),
            pl.col("reward").mean().alias("form"),
            pl.col("tokens").mean(),
        )
        .sort("answers", *keys, descending=[True, *([False] * len(keys))])
    )
    return tuple(DayFigures(tuple(map(str, row[: len(keys)])), *row[len(keys) :]) for row in rows.iter_rows())


def write_dashboard(day: LastDay, *, model: str, version: str, ready: bool, language: Language) -> str:
    """Return the page.

    Args:
        day: The figures.
        model: The registered model.
        version: NAME/VERSION of what answers.
        ready: Whether its engine answers.
        language: Of its words.
    """
    most = max((count for _, count in day.by_hour), default=0)
    values: dict[str, Any] = {
        "day": day,
        "model": model,
        "version": version,
        "ready": ready,
        "words": WORDS[language],
        "other": "pt" if language == "en" else "en",
        "bars": [(hour, count, round(100 * count / most) if most else 0) for hour, count in day.by_hour],
    }
    with spoken(language):
        return page_template(TEMPLATE).render(values)
