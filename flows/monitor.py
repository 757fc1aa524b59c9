"""Flow `monitor`: compare the champion's production answers with its evaluation, and send events of alarms."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from prefect import flow
from prefect.runtime import flow_run

from flows.runtime.console import say, warn
from flows.runtime.prefect_client import DRIFT_EVENT, OPERATIONS_EVENT, send_alarms
from flows.runtime.runs import is_recorded, reschedule_on_interrupt
from flows.runtime.session import logs_to_monitor, open_recorder
from flows.stages.monitor import STAGE, Monitored, monitor_logs
from flows.stages.runner import Session
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.tables.production_logs import log_files
from tasks.commerce.push.phrases import use_own
from tasks.monitor.operations import OPERATIONS, SentAlarms, alarms_of

SECONDS_TO_REST: Final = 60.0
"""How long an interrupted run rests."""
ALARMS_FOLDER: Final = "alarms"
"""Folder of the state with the alarms that a server received, so that each starts one retraining, even after a kill."""

_EVENTS: Final[Mapping[str, tuple[str, str, str]]] = {
    DRIFT_EVENT: ("drift", "no retraining starts", "start one with `tucano retrain`, or "),
    OPERATIONS_EVENT: ("service", "nobody is notified", ""),
}
"""For each event: its subject, the effect that is lost where nothing waits for it, and a remedy by hand."""


def _run_name() -> str:
    return f"monitor-{flow_run.scheduled_start_time:%Y-%m-%d-%H%M%S}"


@flow(name=STAGE, flow_run_name=_run_name)
def monitor(config: Config, logs: Path | None = None) -> Monitored:
    """Score the champion's production logs, look for drift and for faults of the service, and send events of them."""
    use_own(config.rewards.phrases)
    # Does not lock the state folder: a retraining holds it for days while it waits for its training.
    with reschedule_on_interrupt(SECONDS_TO_REST):
        files = log_files(logs_to_monitor(config, logs))
        recorder, tags = open_recorder(config), {"model": config.promote.model_name, "config_digest": config.digest()}
        with recorder.pipeline(_run_name(), tags, alone=False) as run:
            monitored = monitor_logs(Session(config, run), files)
            _send_new_alarms(config, monitored)
        return monitored


def _send_new_alarms(config: Config, monitored: Monitored) -> None:
    """Send the event that starts a retraining, and the one that tells people, once for each alarm while it lasts.

    An alarm is marked as sent once a server with an automation that waits for it has received it. After a kill before
    that, or where no server, or one without such an automation, is there, the next run sends it again.
    """
    champion, found, folder = monitored.champion, monitored.found, config.state.root / ALARMS_FOLDER
    evaluation, drift = monitored.stage.record.inputs["evaluation"], found["drift"]
    sent, alarms = SentAlarms(folder, champion.names[0], evaluation, champion.promoted_at), alarms_of(drift)
    _send(DRIFT_EVENT, monitored, sent, alarms, sent.new(alarms), drift["reasons"])
    service = [*([asdict(monitored.silence)] if monitored.silence else []), *found["operations"]]
    sent, alarms = SentAlarms(folder, champion.model), [alarm["kind"] for alarm in service]
    new = sent.new(alarms, OPERATIONS)
    _send(OPERATIONS_EVENT, monitored, sent, alarms, new, [each["reason"] for each in service if each["kind"] in new])


def _send(
    event: str,
    monitored: Monitored,
    sent: SentAlarms,
    alarms: Sequence[str],
    new: Sequence[str],
    reasons: Sequence[str],
) -> None:
    what, effect, by_hand = _EVENTS[event]
    if not new:
        if alarms:
            say(f"{what}: these alarms were sent before; no event is sent")
        return
    if not is_recorded():
        warn(
            f"this run goes to no Prefect server, so that no event {event} is sent and {effect}; {by_hand}set "
            "PREFECT_API_URL to the server with the automation, and the next run sends the event there",
            what,
        )
        return
    champion = monitored.champion
    try:
        waiting = send_alarms(event, champion.model, champion.version, new, reasons, monitored.stage.record.sha256)
    except InputError as error:
        warn(f"the event {event} could not be sent: {error}; the next run sends it again", what)
        return
    if not waiting:
        warn(
            f"no automation of this run's Prefect server waits for the event {event}, so that {effect}; "
            f"{by_hand}put the automation on a server that stays with `tucano infra apply`, and the next run there "
            "sends the event again",
            what,
        )
        return
    sent.keep(new)
    say(f"{what}: the event {event} is sent, for which the server's automation {' and '.join(waiting)} waits")
