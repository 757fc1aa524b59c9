"""Page of the last 24 hours: answers by task, version and hour, from the log, without any text of anybody."""

from collections.abc import Mapping
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


def write_dashboard(logs: Path, now: datetime, *, model: str, version: str, ready: bool, language: Language) -> str:
    """Return the page of the last 24 hours.

    Args:
        logs: Folder of the log.
        now: The present, with its zone.
        model: The registered model.
        version: NAME/VERSION of what answers.
        ready: Whether its engine answers.
        language: Of its words.
    """
    now = now.astimezone(UTC)
    table = _read(logs, now)
    counts = dict(table.group_by(pl.col("time").dt.truncate("1h")).len().rows())
    first = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=HOURS - 1)
    by_hour = [(f"{hour:%H}", counts.get(hour, 0)) for hour in (first + timedelta(hours=n) for n in range(HOURS))]
    most = max(count for _, count in by_hour) or 1
    values = {
        "by_task": _figures(table.filter(pl.col("role") != "shadow"), "task"),
        "by_version": _figures(table, "model_version", "role"),
        "model": model,
        "version": version,
        "ready": ready,
        "words": WORDS[language],
        "other": "pt" if language == "en" else "en",
        "bars": [(hour, count, round(100 * count / most)) for hour, count in by_hour],
    }
    with spoken(language):
        return page_template(TEMPLATE).render(values)


def _read(logs: Path, now: datetime) -> pl.DataFrame:
    """Return the lines of the last 24 hours."""
    days = (now - timedelta(days=1), now)
    files = [path for day in days if (path := logs / f"{day:%Y-%m-%d}{SUFFIX}").is_file() and path.stat().st_size]
    read = [pl.read_ndjson(path, schema=READ) for path in files]
    table = pl.concat(read) if read else pl.DataFrame(schema=READ)
    time = pl.col("time").str.to_datetime(time_zone="UTC", strict=False)
    return table.with_columns(time).filter(pl.col("time") > now - timedelta(hours=HOURS))


def _figures(table: pl.DataFrame, *keys: str) -> list[dict[str, Any]]:
    """Return the figures of each group: its keys, and what the page's columns say."""
    milliseconds = pl.col("latency_ms")
    return (
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
        .to_dicts()
    )
