"""Automations of the repository act on the events that they are for, and say what people need to know."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from prefect.server.events.schemas.automations import EventTrigger
from prefect.server.events.schemas.events import ReceivedEvent

from flows.deploy.apply import automations_of
from flows.runtime.prefect_client import HELD_EVENT, OPERATIONS_EVENT
from schemas.source import REPOSITORY

SHIPPED = {str(each["name"]): each for each in automations_of(REPOSITORY)}


def event(name: str, resource: dict[str, str], *related: tuple[str, str, str], **more: Any) -> ReceivedEvent:
    """Return an event of the server; the related things have a kind, a role and a name."""
    others = [
        {
            "prefect.resource.id": f"prefect.{kind}.{named if kind == 'tag' else uuid4()}",
            "prefect.resource.role": role,
            "prefect.resource.name": named,
        }
        for kind, role, named in related
    ]
    given = {"occurred": datetime.now(UTC), "event": name, "id": uuid4(), "resource": resource, "related": others}
    return ReceivedEvent.model_validate(given | more)


def ended(flow: str, error: str, state: str = "Failed", tag: str = "retrain") -> ReceivedEvent:
    """Return what the server emits where a run of a flow gets a state."""
    resource = {
        "prefect.resource.id": f"prefect.flow-run.{uuid4()}",
        "prefect.resource.name": f"{flow}-2026-06-06-seed42",
        "prefect.state-message": f"Flow run encountered an exception: {error}",
        "prefect.state-name": state,
        "prefect.state-type": state.upper(),
    }
    deployment = ("deployment", "deployment", "train" if flow == "training" else flow)
    return event(f"prefect.flow-run.{state}", resource, ("flow", "flow", flow), deployment, ("tag", "tag", tag))


REFUSAL = "GateRefused: the reward audit says no"
WAITED = f"TucanoError: the training ended as Failed: Flow run encountered an exception: {REFUSAL}; see the run train-1"
HELD = event(HELD_EVENT, {"prefect.resource.id": "tucano.promotion.7"}, payload={"reason": "worse by 0.08"})
MISSING = event("tucano.machine", {"prefect.resource.id": "tucano.machine.l4-spot"}, payload={"reason": "no L4"})
LATE = event(OPERATIONS_EVENT, {"prefect.resource.id": "tucano.model.m"}, payload={"reason": "silence"})


@pytest.mark.parametrize(
    ("name", "received", "reported"),
    [
        ("gate-refused", ended("retrain", REFUSAL), True),
        ("gate-refused", ended("training", REFUSAL), True),
        # The chain waited for that training: a refusal is reported once.
        ("gate-refused", ended("retrain", WAITED), False),
        ("gate-refused", HELD, False),
        ("promotion-held", HELD, True),
        ("promotion-held", ended("retrain", REFUSAL), False),
        ("service-alarm", LATE, True),
        ("service-alarm", HELD, False),
        ("machine-missing", MISSING, True),
        ("machine-missing", LATE, False),
        ("scores-awaited", ended("retrain", "", "Suspended"), True),
        ("scores-awaited", ended("retrain", "", "Suspended", "monitor"), False),
        ("scores-awaited", ended("retrain", "", "Completed"), False),
    ],
)
def test_people_are_notified_at_once_of_what_needs_them(name: str, received: ReceivedEvent, reported: bool) -> None:
    trigger = EventTrigger.model_validate(SHIPPED[name]["trigger"])
    assert trigger.immediate
    assert trigger.covers(received) is reported
