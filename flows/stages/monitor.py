"""Stage `monitor`: the champion's production answers, scored and compared with its evaluation."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import polars as pl

from flows.runtime.runs import linked_to_mlflow, show_markdown
from flows.stages.registered_version import verified_record, version_parts
from flows.stages.runner import Session, Stage, StageResult, config_digest, run_stage
from schemas.artifact import ArtifactRecord
from schemas.errors import Interrupted
from schemas.progress import Progress
from schemas.tables.production_logs import LogFiles, require_rows
from tasks.curate.processes import in_processes
from tasks.evaluate.answers.files import ROLLOUTS_FILE
from tasks.lineage.mlflow.recorder import StageRun
from tasks.monitor import stage as monitor_stage
from tasks.monitor.drift import shown_by
from tasks.monitor.operations import OperationsAlarm, silence_alarm
from tasks.monitor.report import REPORT_PAGE, alarm_sentences
from tasks.monitor.stage import DRIFT_FILE, REPORT_TEXT, ServingChampion, last_days, read_monitoring
from tasks.personal_data.scrub import scrub_column
from tasks.report.wording import spoken

STAGE: Final = "monitor"


@dataclass(frozen=True)
class Monitored:
    """Result of a monitoring run."""

    champion: ServingChampion
    stage: StageResult
    found: Mapping[str, Any]
    silence: OperationsAlarm | None
    """That nobody is answered any more, which is of the present and not of the logs: no artifact has it."""

    @property
    def reasons(self) -> list[str]:
        """Return a sentence for each alarm."""
        silence = [self.silence.reason] if self.silence else []
        return [*silence, *alarm_sentences(self.found)]


def monitor_logs(session: Session, files: LogFiles) -> Monitored:
    """Score the logs and look for drift, or reuse what was found in the same logs; show it on the run's page."""
    config = session.config
    champion, inputs, order_only = _champion(session)
    require_rows(files)
    digests = files.digests()

    @spoken(config.language, config.workers.reais_per_dollar)
    def work(output: Path, progress: Progress, _: StageRun) -> None:
        in_chunks = partial(_in_processes, config.monitor.workers)
        how: dict[str, Any] = {"scrub": scrubbed_texts, "map_chunks": in_chunks, "now": datetime.now(UTC)}
        monitor_stage.run(files, digests, config.monitor, champion, **how, output=output, progress=progress)

    settings = config.monitor.model_dump(mode="json", exclude={"logs", "workers", "silence_hours"})
    language, since = (config.language, config.workers.reais_per_dollar), champion.promoted_at
    stage = Stage(
        name=STAGE,
        kind="monitoring",
        # This module too: it scrubs the logs, and finds the champion.
        sources=("flows.stages.monitor",),
        config_digest=config_digest(settings, *language, champion.names, since and since.isoformat(), digests),
        inputs=inputs,
        order_only_inputs=order_only,
        work=work,
        summary=_figures,
        reports=(REPORT_PAGE, REPORT_TEXT, DRIFT_FILE),
    )
    result = run_stage(stage, session)
    text = linked_to_mlflow((result.path / REPORT_TEXT).read_text(encoding="utf-8"), result.record, config)
    show_markdown(key="monitoring", markdown=text, description="Does the champion keep its promise?")
    found = read_monitoring(result.path)
    with spoken(config.language):
        silence = silence_alarm(datetime.fromisoformat(found["logs"]["last"]), datetime.now(UTC), config.monitor)
    return Monitored(champion, result, found, silence)


def _champion(session: Session) -> tuple[ServingChampion, dict[str, ArtifactRecord], dict[str, ArtifactRecord]]:
    names, store = session.config.promote, session.store
    parts = version_parts(session.config, store, None)
    answers = verified_record(store, parts.answers().sha256, parts.what)
    inputs = {"evaluation": parts.evaluation, "answers": answers}
    if parts.store is not None:
        # Only to run queries on; without it SQL answers are not scored, and the report says so.
        inputs["prompts"] = store.record(parts.evaluation.inputs["prompts"])
    version, promoted_at = parts.version, parts.version.promoted_at
    champion = ServingChampion(
        model=names.model_name,
        version=version.version,
        alias=names.alias,
        spec=parts.spec,
        answers=store.path(answers.sha256) / ROLLOUTS_FILE,
        store=parts.store,
        promoted_at=datetime.fromisoformat(promoted_at) if promoted_at else None,
    )
    made_from = {"policy": version.policy, "evaluation": version.evaluation}
    promotions = [each for each in store.records("promotion") if made_from.items() <= each.inputs.items()]
    return champion, inputs, {"promotion": promotions[0]} if promotions else {}


def scrubbed_texts(texts: pl.Series) -> pl.Series:
    """Replace the personal data in texts, of which few hold any."""
    return pl.Series(texts.name, [text for text, _ in scrub_column(texts)], pl.String)


def _in_processes(workers: int, function: Callable[[Any], Any], things: Sequence[Any]) -> Iterator[Any]:
    try:
        yield from in_processes(workers)(function, things)
    except Interrupted:
        raise Interrupted(
            "a process that scored was killed, perhaps for want of memory; lower monitor.workers, and run the same "
            "command again"
        ) from None


def _figures(folder: Path) -> Mapping[str, Any]:
    found = read_monitoring(folder)
    logs, last = found["logs"], last_days(folder)
    return {
        "answers": logs["answers"],
        "left out": sum(logs["left_out"].values()),
        **{
            f"mean {shown_by(row['task'], found['drift']['by_form'])} {row['task']}": round(row["mean"], 3)
            for row in last
        },
        "alarms": "; ".join(alarm_sentences(found)) or "none",
    }
