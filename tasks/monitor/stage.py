"""Monitor stage: read, scrub and score a served model's logs, and compare them with its evaluation.

Only scrubbed data is stored: the logs are scrubbed before they are scored, and only then is anything written. The
server's request ids are not stored at all.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from schemas.config.serve import MonitorConfig
from schemas.errors import InputError
from schemas.progress import Progress, silent
from schemas.tables.production_logs import LogFiles
from schemas.tables.prompts import open_parquet
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.commerce.registry import joint_version, reward_versions
from tasks.monitor.drift import Compared, Drift, Measure, find_drift
from tasks.monitor.logs import Logs, Scrub, read_logs, scrubbed
from tasks.monitor.measures import compared_variety, known_answers
from tasks.monitor.operations import latency_alarm
from tasks.monitor.report import Page, write_report
from tasks.monitor.scoring import (
    REFERENCE_IS_UNREAD,
    SQL_TASK,
    KnownParts,
    MapChunks,
    Rewards,
    baselines_of,
    champion_answers,
    kept_where,
    known_parts,
    scored,
    without_broken_queries,
    without_untold,
)
from tasks.monitor.series import count_rewards, daily_figures
from tasks.report.number_format import decimal
from tasks.report.wording import worded

ANSWERS_FILE: Final = "answers.parquet"
"""Artifact file: the scrubbed answers with their rewards."""
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
    "answered": pl.Boolean,
    "characters": pl.Int64,
    "latency_ms": pl.Float64,
    "cost": pl.Float64,
}
"""Columns of the stored answers; times are in UTC."""
_MAX_NAME_CHARACTERS: Final = 80
"""Characters of a model's name in the report."""


@dataclass(frozen=True)
class ServingChampion:
    """The serving model, and its earlier results."""

    model: str
    """Its registered name."""
    version: str
    alias: str
    spec: SpecName
    """Reward specification of its evaluation."""
    answers: Path
    """The file of its answers to the test split."""
    store: Path | None
    """The store that its prompts were made from; None if it is gone."""
    promoted_at: datetime | None
    """Time of its promotion; None if unknown."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return its possible names in `model_version`."""
        return (f"{self.model}/{self.version}", f"{self.model}@{self.alias}")


def run(
    files: LogFiles,
    digests: Mapping[str, str],
    config: MonitorConfig,
    champion: ServingChampion,
    *,
    scrub: Scrub,
    map_chunks: MapChunks,
    now: datetime,
    output: Path,
    progress: Progress = silent,
) -> Drift:
    """Monitor logs; write the scrubbed answers, the daily metrics, the drift, and the report into an empty folder.

    Raises:
        InputError: The logs cannot be read, were changed meanwhile, or contain nothing that can be scored.
    """
    logs = read_logs(files, digests, config, champion.names, champion.promoted_at, now)
    answers, broken = without_broken_queries(scrubbed(logs.table, scrub), champion.spec, champion.store, map_chunks)
    answers, lost = kept_where(answers, champion.spec, champion.store)
    left_out = {**logs.left_out, **lost}
    if not answers.height:
        reasons = "; ".join(f"{count:,} {why}" for why, count in left_out.items()) or "there is none"
        raise InputError(
            f"the logs {files.path} hold no answer that can be scored: {reasons}; the champion's own name it "
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
    by_form = frozenset(answered.difference(rewards.references, REFERENCE_IS_UNREAD[champion.spec]))
    with_reference, known_ones = known_answers(
        answers,
        tested,
        by_form,
        lambda some, parts: scored(some, replace(rewards, references=parts), map_chunks),
        feedback_is_a_sample=config.feedback_is_a_sample,
    )
    answers, tested = scored(answers, rewards, map_chunks, progress), scored(tested, rewards, map_chunks)
    daily, baselines = daily_figures(answers), baselines_of(tested)
    beside = _beside(answers, tested)
    shares = {name: {task: asdict(each) for task, each in found.baselines.items()} for name, found in beside.items()}
    if with_reference is not None:
        beside["reference"] = with_reference
    counts = count_rewards(answers, [task for task in TASK_NAMES if task in answered])
    drift = find_drift(counts, baselines, config, by_form=by_form, beside=beside)
    late = latency_alarm(answers, config)
    document = {
        "champion": {"model": champion.model, "version": champion.version, "alias": champion.alias},
        "rewards": {
            "spec": champion.spec,
            "version": joint_version(champion.spec),
            "versions": reward_versions(answered, champion.spec),
            "with_references": sorted(rewards.references),
        },
        "logs": _of_logs(files, logs, answers, left_out, scrub),
        "baselines": {task: asdict(each) for task, each in baselines.items()},
        "shares": shares,
        "known": [asdict(each) for each in known_ones],
        "drift": drift.document(),
        "operations": [asdict(late)] if late else [],
        "ratings": _ratings(answers),
        "notes": _notes({task: known[task] for task in TASK_NAMES if task in answered}, champion.spec, broken),
    }
    columns = {**COLUMNS, "time": answers.schema["time"]}
    for name, rows, schema in ((ANSWERS_FILE, answers, columns), (DAILY_FILE, daily, dict(daily.schema))):
        with open_parquet(output / name, schema) as table:  # type: ignore[arg-type]
            table.add(rows)
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    (output / DRIFT_FILE).write_text(text + "\n", encoding="utf-8")
    write_report(Page(document, daily, drift, config), output, REPORT_TEXT)
    return drift


def _tested(champion: ServingChampion, logged: pl.DataFrame, scrub: Scrub, map_chunks: MapChunks) -> pl.DataFrame:
    """Return the champion's answers to the test split, scrubbed like the logs."""
    tested, _ = kept_where(scrubbed(champion_answers(champion.answers), scrub), champion.spec, champion.store)
    tested, _ = without_broken_queries(tested, champion.spec, champion.store, map_chunks)
    return without_untold(tested, logged)


def _beside(answers: pl.DataFrame, tested: pl.DataFrame) -> dict[Measure, Compared]:
    """Compare the shares of answers that are answers, of valid form, and of different ones, with the evaluation's.

    Unlike the reward, the first and the last are high in a task that the champion never learned.
    """
    found: dict[Measure, Compared] = {}
    shares: tuple[Measure, ...] = ("answered", "valid")
    for measure in shares:
        measured = answers.drop_nulls(measure)
        if there := [task for task in TASK_NAMES if task in set(measured["task"])]:
            baselines = baselines_of(tested.drop_nulls(measure), measure)
            found[measure] = Compared(count_rewards(measured, there, measure), baselines)
    if variety := compared_variety(answers, tested):
        found["varied"] = variety
    return found


def _of_logs(
    files: LogFiles, logs: Logs, answers: pl.DataFrame, left_out: Mapping[str, int], scrub: Scrub
) -> dict[str, Any]:
    names = pl.Series([name or "not logged" for name in logs.models], dtype=pl.String)
    models: Counter[str] = Counter()
    for name, count in zip(scrub(names), logs.models.values(), strict=True):
        models[name[:_MAX_NAME_CHARACTERS]] += count
    return {
        "files": logs.files,
        "empty_files": files.empty,
        "rows": logs.rows,
        "answers": answers.height,
        "left_out": dict(left_out),
        "first_day": str(answers["day"].min()),
        "last_day": str(answers["day"].max()),
        "last": logs.last.isoformat(),
        "model_versions": dict(models),
        "feedback": asdict(logs.feedback),
    }


def _ratings(answers: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Return the mean rating, 1 to 5, and the number of ratings by task, of tasks with any."""
    rated = answers.filter(pl.col("rating").is_not_null()).group_by("task").agg(pl.col("rating").mean(), pl.len())
    return {task: {"mean": mean, "answers": count} for task, mean, count in rated.sort("task").iter_rows()}


def _notes(known: Mapping[TaskName, KnownParts], spec: SpecName, broken: int) -> list[str]:
    """Return notes that a reader of the metrics needs."""
    notes = []
    read = {task: parts for task, parts in known.items() if task not in REFERENCE_IS_UNREAD[spec]}
    alone = [task for task, parts in read.items() if not parts.by_each]
    if alone:
        notes.append(
            worded(
                "{tasks}: not every answer has a reference, so all are scored by form, which is what the answer and "
                "its prompt show by themselves, and compared with the champion's test answers scored in the same way; "
                "this is no reward, and wrong answers of the right form are not detected",
                tasks=", ".join(alone),
            )
        )
    for task, parts in read.items():
        if parts.by_each and parts.by_some > parts.by_each:
            notes.append(
                worded(
                    "{task}: not every reference, of the logs and of the champion's test answers, knows {parts}, so no "
                    "answer is scored by that, and what only it shows is not seen",
                    task=task,
                    parts=", ".join(sorted(parts.by_some - parts.by_each)),
                )
            )
    if broken:
        notes.append(
            worded(
                "the reference queries of {n} answers to {task} do not run, and count as if none were known; correct "
                "them where the references come from",
                n=decimal(broken, 0),
                task=SQL_TASK,
            )
        )
    return notes


def read_monitoring(folder: Path) -> Mapping[str, Any]:
    """Read the findings of a monitoring."""
    document: Mapping[str, Any] = json.loads((folder / DRIFT_FILE).read_text(encoding="utf-8"))
    return document


def last_days(folder: Path) -> list[dict[str, Any]]:
    """Read the last day of each task, `all` first."""
    daily = pl.read_parquet(folder / DAILY_FILE)
    return daily.group_by("task", maintain_order=True).last().to_dicts()
