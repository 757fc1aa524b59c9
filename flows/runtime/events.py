"""Events on Prefect's server that automations wait for: alarms of monitoring, and a version that the gate holds."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from prefect.events import Event, EventTrigger, emit_event
from prefect.runtime import flow_run
from prefect.settings import PREFECT_API_URL

from flows.runtime.prefect_client import connected

DRIFT_EVENT: Final = "tucano.drift"
"""Event of new alarms; an automation of infra/automations starts a retraining."""
OPERATIONS_EVENT: Final = "tucano.operations"
"""Event of new alarms of the service: late, dear or no answers; an automation of infra/automations notifies people."""
HELD_EVENT: Final = "tucano.held"
"""Event of a version that the gate holds; an automation of infra/automations notifies people."""
SWITCH_EVENT: Final = "tucano.serving"
"""Beginning of the events of a new version in serving: `.switched` and `.refused`."""


def send_alarms(
    event_name: str, model: str, version: str, alarms: Sequence[str], reasons: Sequence[str], artifact: str
) -> list[str]:
    """Send the event of new alarms, and return the names of the server's automations that wait for it."""
    event = Event(
        event=event_name,
        resource={"prefect.resource.id": f"tucano.model.{model}", "tucano.version": version},
        related=[{"prefect.resource.id": f"prefect.flow-run.{flow_run.id}", "prefect.resource.role": "flow-run"}],
        payload={
            "alarms": list(alarms),
            "reasons": list(reasons),
            "reason": "; ".join(reasons),
            "version": version,
            "artifact": artifact,
        },
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


def emit_switch(model: str, version: str, outcome: str, sentence: str) -> None:
    """Emit the event of a version that took over in serving, or that was refused."""
    resource = {"prefect.resource.id": f"tucano.serving.{model}", "tucano.version": version}
    emit_event(f"{SWITCH_EVENT}.{outcome}", resource=resource, payload={"reason": sentence})
