"""The monitor stage: read, scrub and score a served model's logs, and hold them against what its evaluation promised.

Nothing is kept that was not scrubbed: the logs are scrubbed before they are scored, and only then is anything written.
What tells requests apart, as whoever serves chose it, is not kept at all.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from schemas.errors import InputError
from schemas.evaluate_config import CostConfig
from schemas.monitor_config import MonitorConfig
from schemas.parquet import open_parquet
from schemas.progress import Progress, silent
from schemas.tasks import SpecName
from tasks.commerce.registry import reward_version
from tasks.monitor.baseline import Baseline
from tasks.monitor.daily import daily_figures
from tasks.monitor.drift import Drift, find_drift
from tasks.monitor.figures import draw, write_figures
from tasks.monitor.logs import Logs, read_logs
from tasks.monitor.report import Page, markdown, write_page
from tasks.monitor.scoring import (
    MapChunks,
    Rewards,
    baselines_of,
    champion_answers,
    kept_where,
    referenced_tasks,
    scored,
)
from tasks.monitor.serving_cost import ServingCost, serving_cost

ANSWERS_FILE: Final = "answers.parquet"
"""Of the artifact: the scrubbed answers with their rewards."""
DAILY_FILE: Final = "daily.parquet"
DRIFT_FILE: Final = "drift.json"
REPORT_TEXT: Final = "report.md"
COLUMNS: Final[Mapping[str, type[pl.DataType]]] = {
    "day": pl.Date,
    "time": pl.Datetime,
    "task": pl.String,
    "model_version": pl.String,
    "prompt": pl.String,
    "completion": pl.String,
    "reference": pl.String,
    "reward": pl.Float64,
    "valid": pl.Boolean,
    "characters": pl.Int64,
    "latency_ms": pl.Float64,
    "cost": pl.Float64,
}
"""The columns of the answers that are kept; times are in UTC."""
_TEXTS: Final = ("prompt", "completion", "reference", "model_version")

Scrub = Callable[[pl.Series], pl.Series]
"""Replaces the personal data in texts; what is null stays so."""


@dataclass(frozen=True)
class Champion:
    """The model that serves, and what was found of it before."""

    model: str
    """Its registered name."""
    version: str
    alias: str
    spec: SpecName
    """The rewards by which it was evaluated."""
    reward_version: str
    """The version of these rewards then."""
    answers: Path
    """The file of its answers to the test split."""
    store: Path | None
    """The store that its prompts were made of; None where it is gone."""
    promoted_at: datetime | None

    @property
    def names(self) -> tuple[str, ...]:
        """What the logs may call it in `model_version`."""
        return (f"{self.model}/{self.version}", f"{self.model}@{self.alias}")


@dataclass(frozen=True)
class Monitoring:
    """What monitoring found."""

    drift: Drift
    seconds: Mapping[str, float]
    """Where the time went, by step."""


def run(
    files: Sequence[Path],
    config: MonitorConfig,
    prices: CostConfig,
    champion: Champion,
    *,
    scrub: Scrub,
    map_chunks: MapChunks,
    now: datetime,
    output: Path,
    progress: Progress = silent,
) -> Monitoring:
    """Look at logs; write the scrubbed answers, the figures by day, the drift, and the report.

    Args:
        files: The logs (`tasks.monitor.logs.log_files`).
        config: What counts as drift.
        prices: Of the machine that serves, and of the API that it is held against.
        champion: The model that serves.
        scrub: Takes personal data out of texts.
        map_chunks: Who scores.
        now: The present, with its zone.
        output: An empty folder.
        progress: Told of the answers that are scored.

    Raises:
        InputError: The logs cannot be read, or hold nothing that can be scored.
    """
    clock = _Clock()
    logs = read_logs(files, config, champion.names, now)
    clock.lap("read and check")
    answers, broken = _scrubbed(logs.table, scrub)
    clock.lap("scrub")
    rewards = Rewards(champion.spec, champion.store, referenced_tasks(answers))
    answers, lost = kept_where(answers, rewards)
    if not answers.height:
        raise InputError(
            f"the logs {files[0].parent} hold no answer that can be scored: {_said({**logs.left_out, **lost})}"
        )
    answers = scored(answers, rewards, map_chunks, progress)
    clock.lap("score")
    tested, _ = kept_where(champion_answers(champion.answers), rewards)
    baselines = baselines_of(scored(tested, rewards, map_chunks))
    clock.lap("score the test answers again")
    daily = daily_figures(answers)
    drift = find_drift(answers, baselines, config)
    cost = serving_cost(answers, prices)
    clock.lap("figures and drift")
    document = _document(logs, answers, champion, rewards, baselines, drift, cost)
    document["logs"]["left_out"] |= lost
    document["notes"] = _notes(answers, champion, rewards, broken)
    _write(answers, daily, drift, document, config, output)
    clock.lap("write and draw")
    return Monitoring(drift, clock.laps)


class _Clock:
    """Where the time goes."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.monotonic()

    def lap(self, name: str) -> None:
        now = time.monotonic()
        self.laps[name] = now - self._since
        self._since = now


def _scrubbed(answers: pl.DataFrame, scrub: Scrub) -> tuple[pl.DataFrame, int]:
    """Return answers without personal data, and how many references are no JSON any more and so are left out."""
    for column in _TEXTS:
        texts = answers[column].drop_nulls().unique(maintain_order=True)
        clean = scrub(texts)
        changed = (texts != clean).arg_true()
        if len(changed):
            old, new = texts.gather(changed), clean.gather(changed)
            answers = answers.with_columns(pl.col(column).replace(old, new))
    known = answers["reference"].drop_nulls().unique()
    broken = [text for text in known if not _is_json(text)]
    lost = answers.filter(pl.col("reference").is_in(broken)).height
    return answers.with_columns(pl.col("reference").replace(broken, [None] * len(broken))), lost


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _document(
    logs: Logs,
    answers: pl.DataFrame,
    champion: Champion,
    rewards: Rewards,
    baselines: Mapping[str, Baseline],
    drift: Drift,
    cost: ServingCost,
) -> dict[str, Any]:
    versions = answers["model_version"].fill_null("not logged").value_counts(sort=True)
    return {
        "champion": {"model": champion.model, "version": champion.version, "alias": champion.alias},
        "rewards": {
            "spec": champion.spec,
            "version": reward_version(),
            "evaluated_with": champion.reward_version,
            "with_references": sorted(rewards.referenced),
        },
        "logs": {
            "files": logs.files,
            "rows": logs.rows,
            "answers": answers.height,
            "left_out": dict(logs.left_out),
            "first_day": str(answers["day"].min()),
            "last_day": str(answers["day"].max()),
            "model_versions": dict(versions.rows()),
        },
        "baselines": {task: asdict(each) for task, each in baselines.items()},
        "drift": drift.document(),
        "serving": asdict(cost),
    }


def _notes(answers: pl.DataFrame, champion: Champion, rewards: Rewards, broken: int) -> list[str]:
    """Say what whoever reads the figures must know."""
    notes = []
    if champion.reward_version != reward_version():
        notes.append(
            f"the rewards have changed since version {champion.version} was evaluated ({champion.reward_version[:12]} "
            f"then, {reward_version()[:12]} now): its logs and its answers to the test split are both scored by the "
            "present ones, so that drift means the same, but the means are not those of its evaluation's report"
        )
    alone = sorted(set(answers["task"].unique()) - rewards.referenced)
    if alone:
        notes.append(
            f"{', '.join(alone)}: not every answer has a reference, so all are scored without, by their form and what "
            "the prompt itself tells, and held against the champion's test answers scored in the same way; what only a "
            "reference shows, such as a wrong sentiment, is not seen"
        )
    named = answers["model_version"].is_in(list(champion.names)).any()
    older = 0 if champion.promoted_at is None else answers.filter(pl.col("time") < champion.promoted_at).height
    if older and not named:
        notes.append(
            f"{older:,} answers are older than the promotion of version {champion.version}, and no answer names its "
            f"model: log {champion.names[0]} as model_version, and only the champion's answers count"
        )
    if not named and answers["model_version"].n_unique() > 1:
        notes.append("the logs name several models and none of them the champion; all count as if they were one")
    if broken:
        notes.append(f"{broken:,} references were no JSON once personal data was taken out of them, and do not count")
    return notes


def _write(
    answers: pl.DataFrame,
    daily: pl.DataFrame,
    drift: Drift,
    document: Mapping[str, Any],
    config: MonitorConfig,
    output: Path,
) -> None:
    columns = {**COLUMNS, "time": answers.schema["time"]}
    with open_parquet(output / ANSWERS_FILE, columns) as table:  # type: ignore[arg-type]
        table.add(answers)
    with open_parquet(output / DAILY_FILE, dict(daily.schema)) as table:  # type: ignore[arg-type]
        table.add(daily)
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    (output / DRIFT_FILE).write_text(text + "\n", encoding="utf-8")
    drawn = draw(daily, drift, config.floor)
    write_figures(drawn, output)
    page = Page(document, daily, drift, config)
    (output / REPORT_TEXT).write_text(markdown(page), encoding="utf-8")
    write_page(page, drawn, output)


def read_monitoring(folder: Path) -> Mapping[str, Any]:
    """Read what monitoring found."""
    document: Mapping[str, Any] = json.loads((folder / DRIFT_FILE).read_text(encoding="utf-8"))
    return document


def last_days(folder: Path) -> list[dict[str, Any]]:
    """Read the last day of each task, `all` first."""
    daily = pl.read_parquet(folder / DAILY_FILE)
    return daily.group_by("task", maintain_order=True).last().to_dicts()


def _said(left_out: Mapping[str, int]) -> str:
    return "; ".join(f"{count:,} {why}" for why, count in left_out.items()) or "there is none"
