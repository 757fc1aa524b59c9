"""The monitor stage: read, scrub and score a served model's logs, and hold them against what its evaluation promised.

Nothing is kept that was not scrubbed: the logs are scrubbed before they are scored, and only then is anything written.
What tells requests apart, as whoever serves chose it, is not kept at all.
"""

import json
import time
from collections import Counter
from collections.abc import Mapping
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
from schemas.tasks import TASK_NAMES, SpecName
from tasks.commerce.registry import reward_version
from tasks.monitor.daily import daily_figures
from tasks.monitor.drift import Drift, find_drift
from tasks.monitor.figures import draw, write_figures
from tasks.monitor.known_parts import KnownParts, known_parts
from tasks.monitor.logs import LogFiles, Logs, read_logs
from tasks.monitor.report import Page, markdown, write_page
from tasks.monitor.reward_counts import count_rewards
from tasks.monitor.scoring import (
    SQL_TASK,
    MapChunks,
    Rewards,
    baselines_of,
    champion_answers,
    kept_where,
    scored,
    without_broken_queries,
)
from tasks.monitor.scrubbing import Scrub, scrubbed
from tasks.monitor.serving_cost import serving_cost

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
_LONGEST_NAME: Final = 80
"""Characters of a model's name that the report shows."""


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
    """Since when it serves; None where that is not known."""

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
    files: LogFiles,
    digests: Mapping[str, str],
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
        digests: What they were known by when they were found; others may not be read.
        config: What counts as drift.
        prices: Of the machine that serves, and of the API that it is held against.
        champion: The model that serves.
        scrub: Takes personal data out of texts.
        map_chunks: Who scores.
        now: The present, with its zone.
        output: An empty folder.
        progress: Told of the answers that are scored.

    Raises:
        InputError: The logs cannot be read, were changed meanwhile, or hold nothing that can be scored.
    """
    clock = _Clock()
    logs = read_logs(files, digests, config, champion.names, champion.promoted_at, now)
    clock.lap("read and check")
    answers = scrubbed(logs.table, scrub)
    clock.lap("scrub")
    answers, broken = without_broken_queries(answers, champion.spec, champion.store, map_chunks)
    answers, lost = kept_where(answers, champion.spec, champion.store)
    left_out = {**logs.left_out, **lost}
    if not answers.height:
        raise InputError(
            f"the logs {files.path} hold no answer that can be scored: {_said(left_out)}; the champion's own name it "
            f"{' or '.join(champion.names)} in model_version, or name none"
        )
    answered = set(answers["task"].unique())
    tested = _tested(champion, answers, scrub, map_chunks)
    known = known_parts(pl.concat([each.select("task", "reference") for each in (answers, tested)]))
    rewards = Rewards(
        champion.spec,
        champion.store,
        {task: parts.by_each for task, parts in known.items() if task in answered and parts.by_each},
    )
    clock.lap("compare the references")
    answers = scored(answers, rewards, map_chunks, progress)
    clock.lap("score")
    baselines = baselines_of(scored(tested, rewards, map_chunks))
    clock.lap("score the test answers again")
    daily = daily_figures(answers)
    drift = find_drift(count_rewards(answers, [task for task in TASK_NAMES if task in answered]), baselines, config)
    cost = serving_cost(answers, prices)
    clock.lap("figures and drift")
    document = {
        "champion": {"model": champion.model, "version": champion.version, "alias": champion.alias},
        "rewards": {
            "spec": champion.spec,
            "version": reward_version(),
            "evaluated_with": champion.reward_version,
            "with_references": sorted(rewards.references),
        },
        "logs": _of_logs(files, logs, answers, left_out, scrub),
        "baselines": {task: asdict(each) for task, each in baselines.items()},
        "drift": drift.document(),
        "serving": asdict(cost),
        "notes": _notes({task: known[task] for task in TASK_NAMES if task in answered}, champion, broken),
    }
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


def _tested(champion: Champion, logged: pl.DataFrame, scrub: Scrub, map_chunks: MapChunks) -> pl.DataFrame:
    """Return what the champion answered to the test split, scrubbed as the logs are."""
    tested, _ = kept_where(scrubbed(champion_answers(champion.answers), scrub), champion.spec, champion.store)
    tested, broken = without_broken_queries(tested, champion.spec, champion.store, map_chunks)
    if broken and not logged.filter(pl.col("task") == SQL_TASK)["reference"].null_count():
        # A few would leave all the others, here and in the logs, without theirs.
        tested = tested.filter((pl.col("task") != SQL_TASK) | pl.col("reference").is_not_null())
    return tested


def _of_logs(
    files: LogFiles, logs: Logs, answers: pl.DataFrame, left_out: Mapping[str, int], scrub: Scrub
) -> dict[str, Any]:
    names = pl.Series([name or "not logged" for name in logs.models], dtype=pl.String)
    models: Counter[str] = Counter()
    for name, count in zip(scrub(names), logs.models.values(), strict=True):
        models[name[:_LONGEST_NAME]] += count
    return {
        "files": logs.files,
        "empty_files": files.empty,
        "rows": logs.rows,
        "answers": answers.height,
        "left_out": dict(left_out),
        "first_day": str(answers["day"].min()),
        "last_day": str(answers["day"].max()),
        "model_versions": dict(models),
        "of_other_model_versions": logs.models_beside,
    }


def _notes(known: Mapping[str, KnownParts], champion: Champion, broken: int) -> list[str]:
    """Say what whoever reads the figures must know."""
    notes = []
    if champion.reward_version != reward_version():
        notes.append(
            f"the rewards have changed since version {champion.version} was evaluated ({champion.reward_version[:12]} "
            f"then, {reward_version()[:12]} now): its logs and its answers to the test split are both scored by the "
            "present ones, so that drift means the same, but the means are not those of its evaluation's report"
        )
    alone = [task for task, parts in known.items() if not parts.by_each]
    if alone:
        notes.append(
            f"{', '.join(alone)}: not every answer has a reference, so all are scored without, by their form and what "
            "the prompt itself tells, and held against the champion's test answers scored in the same way; what only a "
            "reference shows, such as a wrong sentiment, is not seen"
        )
    for task, parts in known.items():
        if parts.by_each and parts.by_some > parts.by_each:
            notes.append(
                f"{task}: not every reference, of the logs and of the champion's test answers, knows "
                f"{', '.join(sorted(parts.by_some - parts.by_each))}, so no answer is scored by that, and what only it "
                "shows is not seen"
            )
    if broken:
        notes.append(
            f"the reference queries of {broken:,} answers to {SQL_TASK} do not run, and count as if none were known; "
            "correct them where the references come from"
        )
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
