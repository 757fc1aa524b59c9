"""Flow `monitor`: compare the champion's production answers with its evaluation, and send an event of drift."""

from pathlib import Path
from typing import Final

from prefect import flow
from prefect.runtime import flow_run

from flows.runtime.console import say
from flows.runtime.events import DRIFT_EVENT, send_drift
from flows.runtime.logs_to_monitor import logs_to_monitor
from flows.runtime.prefect_run import is_recorded
from flows.runtime.reschedule import reschedule_on_interrupt
from flows.runtime.stores import open_recorder
from flows.stages.changed_keys import warn_of_changed_keys
from flows.stages.monitor import STAGE, Monitored, monitor_logs
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.tables.log_file import log_files
from tasks.monitor.sent_alarms import SentAlarms, alarms_of

SECONDS_TO_REST: Final = 60.0
"""How long an interrupted run rests."""
ALARMS_FOLDER: Final = "alarms"
"""Folder of the state with the alarms that a server received, so that each starts one retraining, even after a kill."""


def _run_name() -> str:
    """Name a run by the second at which it was to start."""
    return f"monitor-{flow_run.scheduled_start_time:%Y-%m-%d-%H%M%S}"


@flow(name=STAGE, flow_run_name=_run_name)
def monitor(config: Config, logs: Path | None = None) -> Monitored:
    """Score the champion's production logs, look for drift, and where there is any, send the event `tucano.drift`.

    Args:
        config: The run's configuration.
        logs: A file of logs or a folder of them; where not given, `monitor.logs`, or else what the gateway wrote.

    Raises:
        InputError: There are no logs, no champion, its evaluation is lost, or the logs cannot be read.
    """
    # Does not lock the state folder: a retraining holds it for days while it waits for its training.
    with reschedule_on_interrupt(SECONDS_TO_REST):
        files = log_files(logs_to_monitor(config, logs))
        recorder, tags = open_recorder(config), {"model": config.promote.model_name, "config_digest": config.digest()}
        with recorder.pipeline(_run_name(), tags, alone=False) as run:
            warn_of_changed_keys(config)
            monitored = monitor_logs(config, run, files)
            _send_new_alarms(config, monitored)
        return monitored


def _send_new_alarms(config: Config, monitored: Monitored) -> None:
    """Send the event that starts a retraining, once for each alarm of each champion while the alarm lasts.

    It is marked as sent once a server with an automation that waits for it has received it. After a kill before that,
    or where there is no server, or one that refuses it or has no such automation, the next run sends it again.
    """
    champion, artifact, drift = monitored.champion, monitored.stage.record, monitored.found["drift"]
    evaluation = artifact.inputs["evaluation"]
    sent = SentAlarms(config.state.root / ALARMS_FOLDER, champion.names[0], evaluation, champion.promoted_at)
    alarms = alarms_of(drift)
    new = sent.new(alarms)
    if not new:
        if alarms:
            say("drift: these alarms were sent before; no event is sent")
        return
    if not is_recorded():
        say(
            f"drift: this run goes to no Prefect server, so that no event {DRIFT_EVENT} is sent and no retraining "
            "starts; start one with `tucano retrain`, or set PREFECT_API_URL to the server with the automation, and "
            "the next run sends the event there"
        )
        return
    try:
        waiting = send_drift(champion.model, champion.version, new, drift["reasons"], artifact.sha256)
    except InputError as error:
        say(f"drift: the event {DRIFT_EVENT} could not be sent: {error}; the next run sends it again")
        return
    if not waiting:
        say(
            f"drift: no automation of this run's Prefect server waits for the event {DRIFT_EVENT}, so that no "
            "retraining starts; start one with `tucano retrain`, or put the automation on a server that stays with "
            "`tucano infra apply`, and the next run there sends the event again"
        )
        return
    sent.keep(new)
    say(f"drift: the event {DRIFT_EVENT} is sent, for which the server's automation {' and '.join(waiting)} waits")
