"""Client of a Prefect server: refusals in a sentence, begin and end of a session, and events for automations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import httpx
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.filters import FlowRunFilter, WorkerFilter
from prefect.client.schemas.objects import StateType, WorkerStatus, WorkPool
from prefect.events import Event, EventTrigger, emit_event
from prefect.events.worker import EventsWorker
from prefect.exceptions import PrefectException
from prefect.logging.handlers import APILogWorker
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL, PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings
from prefect.states import Crashed

from flows.runtime.console import warn
from flows.runtime.prefect_server import KEYS, shown
from schemas.errors import InputError, Interrupted, TucanoError, causes_of

MOST_SHOWN = 300
"""Most characters shown of the server's own message."""
SECONDS_TO_DRAIN = 10.0
DRIFT_EVENT: Final = "tucano.drift"
"""Event of new alarms; an automation of infra/automations starts a retraining."""
OPERATIONS_EVENT: Final = "tucano.operations"
"""Event of new alarms of the service: late, dear or no answers; an automation of infra/automations notifies people."""
HELD_EVENT: Final = "tucano.held"
"""Event of a version that the gate holds; an automation of infra/automations notifies people."""


@contextmanager
def connected(address: str) -> Iterator[SyncPrefectClient]:
    """Connect to a server."""
    try:
        with temporary_settings({PREFECT_API_URL: address}), get_client(sync_client=True) as client:
            yield client
    except (httpx.HTTPError, PrefectException, ValueError) as error:
        raise InputError(refusal(error, address)) from None


def refusal(error: Exception, address: str, *, read_before: bool = False) -> str:
    """Explain a failed request in a sentence."""
    where = f"the Prefect server at {shown(address)}"
    # For some codes Prefect raises exceptions of its own, around the one that says what happened.
    read_before = read_before or isinstance(error, PrefectException)
    error = getattr(error, "http_exc", error)
    if not isinstance(error, httpx.HTTPStatusError):
        what = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        return f"{where} cannot be talked to ({what}); correct PREFECT_API_URL, or try again"
    code, said = error.response.status_code, error.response.text[:MOST_SHOWN]
    if read_before and code in {httpx.codes.NOT_FOUND, httpx.codes.CONFLICT}:
        return f"{where} was changed by somebody else meanwhile ({code}: {said})"
    if code == httpx.codes.UNAUTHORIZED:
        return f"{where} asks for a key, and takes none that is set ({code}); set {KEYS}"
    if code == httpx.codes.FORBIDDEN:
        return f"{where} forbids it ({code}: {said}); a key that may is set by {KEYS}"
    if code == httpx.codes.NOT_FOUND:
        return f"{where} is none, or too old ({code} for {error.request.url.path}); correct PREFECT_API_URL"
    return f"{where} answers {code}: {said}"


def has_worker(client: SyncPrefectClient, pool: WorkPool) -> bool:
    """Return whether a worker that is online takes a pool's runs, or the server itself where it needs none."""
    online = WorkerFilter.model_validate({"status": {"any_": [WorkerStatus.ONLINE]}})
    return pool.is_push_pool or pool.is_managed_pool or bool(client.read_workers_for_work_pool(pool.name, online))


@contextmanager
def own_server(is_disk_full: Callable[[], bool]) -> Iterator[None]:
    """Use a session's own server in the block: without what a killed command left, and with all sent before its end."""
    # It acts on no heartbeat, and each flow would wait a second for its thread.
    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}), report_dropped_logs(unless=is_disk_full):
        # The lock proves that nobody works on what is running there.
        running = FlowRunFilter.model_validate({"state": {"type": {"any_": [StateType.RUNNING]}}})
        with get_client(sync_client=True) as client:
            for run in client.read_flow_runs(flow_run_filter=running):
                client.set_flow_run_state(run.id, Crashed(message="its process was killed"), force=True)
        try:
            yield
        finally:
            drain()


@contextmanager
def team_server(address: str, is_disk_full: Callable[[], bool]) -> Iterator[None]:
    """Use somebody else's server in the block."""
    # The health check needs no credentials, so it does not prove that our key is accepted.
    with connected(address) as client:
        client.read_flows(limit=1)
    with lost_server_error(address), report_dropped_logs(unless=is_disk_full):
        yield


@contextmanager
def lost_server_error(address: str) -> Iterator[None]:
    """Say in one sentence that the server of a run went away in the block, once Prefect has tried for a minute."""
    try:
        yield
    except TucanoError:
        raise
    except Exception as error:
        failed = next((cause for cause in causes_of(error) if isinstance(cause, httpx.HTTPError)), None)
        # Other libraries make their requests by httpx, too.
        if failed is None or not _is_to(address, failed):
            raise
        sentence = f"{refusal(failed, address, read_before=True)}; run the same command again to resume from here"
        raise Interrupted(sentence) from error


def _is_to(address: str, failed: httpx.HTTPError) -> bool:
    try:
        return str(failed.request.url).startswith(shown(address))
    except RuntimeError:
        # It has none.
        return False


@contextmanager
def report_dropped_logs(unless: Callable[[], bool]) -> Iterator[None]:
    """Warn in one sentence of log lines that the server does not take during the block; Prefect writes several."""

    async def send(worker: Any, lines: list[dict[str, Any]]) -> None:
        try:
            await worker._client.create_logs(lines)  # noqa: SLF001 - as Prefect does
        except Exception as error:  # noqa: BLE001 - no lost line ends a run
            if not unless():
                warn(f"{len(lines)} log lines are not on Prefect's pages ({type(error).__name__}); the run goes on")

    before = APILogWorker._handle_batch  # noqa: SLF001 - the only place that knows of it
    APILogWorker._handle_batch = send  # type: ignore[assignment,method-assign]  # noqa: SLF001
    try:
        yield
    finally:
        APILogWorker._handle_batch = before  # type: ignore[method-assign]  # noqa: SLF001


def drain() -> None:
    """Send what Prefect still queues; at exit the interpreter would try for a minute to reach a stopped server."""
    APILogWorker.drain_all(timeout=SECONDS_TO_DRAIN)
    EventsWorker.drain_all(timeout=SECONDS_TO_DRAIN)


def send_alarms(
    event_name: str, model: str, version: str, alarms: Sequence[str], reasons: Sequence[str], artifact: str
) -> list[str]:
    """Send the event of new alarms, and return the names of the server's automations that wait for it."""
    said = {"version": version, "artifact": artifact}
    event = Event(
        event=event_name,
        resource={"prefect.resource.id": f"tucano.model.{model}", "tucano.version": version},
        related=[{"prefect.resource.id": f"prefect.flow-run.{flow_run.id}", "prefect.resource.role": "flow-run"}],
        payload={"alarms": [*alarms], "reasons": [*reasons], "reason": "; ".join(reasons), **said},
    )
    # `emit_event` would only queue it, and report no loss.
    with connected(str(PREFECT_API_URL.value())) as client:
        client.request("POST", "/events", json=[event.model_dump(mode="json")]).raise_for_status()
        automations = client.read_automations()
    return [
        each.name
        for each in automations
        if each.enabled and isinstance(each.trigger, EventTrigger) and event.event in each.trigger.expect
    ]


def emit_held(decision: Mapping[str, Any]) -> None:
    """Emit the event of a version that the gate holds, with its reasons, as `decision.json` has them."""
    model = f"{decision['model']} version {decision['version']}"
    resource = {"prefect.resource.id": f"tucano.promotion.{decision['version']}", "prefect.resource.name": model}
    emit_event(HELD_EVENT, resource=resource, payload={"reason": "; ".join(decision["reasons"])})
