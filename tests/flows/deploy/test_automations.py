"""Automations of the repository act on the events that they are for, and say what people need to know."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from prefect.server.events.schemas.automations import EventTrigger
from prefect.server.events.schemas.events import ReceivedEvent

from flows.deploy.apply import read_declared
from schemas.source import REPOSITORY

SHIPPED = {str(each["name"]): (path, each) for path, each in read_declared(REPOSITORY).automations}


def ended(flow: str, error: str, state: str = "Failed") -> ReceivedEvent:
    """Return what the server emits where a run of a flow ends by an exception."""
    message = f"Flow run encountered an exception: {error}"
    return ReceivedEvent.model_validate(
        {
            "occurred": datetime.now(UTC),
            "event": f"prefect.flow-run.{state}",
            "id": uuid4(),
            "resource": {
                "prefect.resource.id": f"prefect.flow-run.{uuid4()}",
                "prefect.resource.name": f"{flow}-2026-06-06-seed42",
                "prefect.state-message": message,
                "prefect.state-name": state,
                "prefect.state-type": state.upper(),
            },
            "related": [
                {
                    "prefect.resource.id": f"prefect.flow.{uuid4()}",
                    "prefect.resource.role": "flow",
                    "prefect.resource.name": flow,
                },
                {
                    "prefect.resource.id": f"prefect.deployment.{uuid4()}",
                    "prefect.resource.role": "deployment",
                    "prefect.resource.name": "train" if flow == "training" else flow,
                },
                {"prefect.resource.id": "prefect.tag.retrain", "prefect.resource.role": "tag"},
            ],
        }
    )


WAITED = "TucanoError: the training on training/train ended as Failed: {refusal}; see the run train-1"


@pytest.mark.parametrize(
    "events",
    [
        [ended("retrain", "GateRefused: the reward audit says no")],
        [
            ended("training", "GateRefused: the preflight says no"),
            ended("retrain", WAITED.format(refusal="Flow run encountered an exception: GateRefused: the preflight")),
        ],
    ],
    ids=["of the chain", "of a training on another machine"],
)
def test_a_refusal_is_reported_once_wherever_it_was_said(events: list[ReceivedEvent]) -> None:
    _, automation = SHIPPED["gate-refused"]
    trigger = EventTrigger.model_validate(automation["trigger"])
    assert trigger.immediate
    assert [trigger.covers(event) for event in events] == [True, *[False] * (len(events) - 1)]


HELD = ReceivedEvent.model_validate(
    {
        "occurred": datetime.now(UTC),
        "event": "tucano.held",
        "id": uuid4(),
        "resource": {
            "prefect.resource.id": "tucano.promotion.7",
            "prefect.resource.name": "tucano2-commerce version 7",
        },
        "payload": {"reason": "sql_qa: worse by 0.08"},
    }
)


LATE = ReceivedEvent.model_validate(
    {
        "occurred": datetime.now(UTC),
        "event": "tucano.operations",
        "id": uuid4(),
        "resource": {"prefect.resource.id": "tucano.model.tucano2-commerce"},
        "payload": {"reason": "silence: no answer since 2026-03-09"},
    }
)


def suspended(state: str, tag: str) -> ReceivedEvent:
    """Return what the server emits where a run with a tag gets a state."""
    return ReceivedEvent.model_validate(
        {
            "occurred": datetime.now(UTC),
            "event": f"prefect.flow-run.{state}",
            "id": uuid4(),
            "resource": {"prefect.resource.id": f"prefect.flow-run.{uuid4()}", "prefect.state-name": state},
            "related": [{"prefect.resource.id": f"prefect.tag.{tag}", "prefect.resource.role": "tag"}],
        }
    )


@pytest.mark.parametrize(
    ("name", "event", "reported"),
    [
        ("promotion-held", HELD, True),
        ("service-alarm", LATE, True),
        ("service-alarm", HELD, False),
        ("promotion-held", ended("retrain", "GateRefused: the reward audit says no"), False),
        ("scores-awaited", suspended("Suspended", "retrain"), True),
        ("scores-awaited", suspended("Suspended", "monitor"), False),
        ("scores-awaited", suspended("Completed", "retrain"), False),
        ("gate-refused", HELD, False),
    ],
)
def test_people_are_notified_at_once_of_a_model_that_is_held_and_of_a_sheet_that_waits(
    name: str, event: ReceivedEvent, reported: bool
) -> None:
    trigger = EventTrigger.model_validate(SHIPPED[name][1]["trigger"])
    assert trigger.immediate
    assert trigger.covers(event) is reported
