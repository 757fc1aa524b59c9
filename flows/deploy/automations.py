"""Automations: files name deployments and notification blocks, where a server has ids."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from prefect.client.orchestration import SyncPrefectClient
from prefect.events.schemas.automations import Automation, AutomationCore
from pydantic import ValidationError

from flows.deploy.plan import Found, Wanted
from schemas.errors import InputError
from schemas.faults import first_fault

NAMED = {"deployment": "deployment_id", "block": "block_document_id"}
"""What an action names in a file, and Prefect's field for the id of it."""
NOTHING = {"type": "do-nothing"}
SETS = ("after", "expect", "for_each")
"""Fields of a trigger whose order has no meaning."""
IN_NO_DOCUMENT = {"id", "created", "updated"}


def wanted_automation(
    path: Path, declared: Mapping[str, Any], deployments: set[str], blocks: Mapping[str, UUID]
) -> tuple[Wanted, list[str]]:
    """Return an automation that the server is to have, and warnings about it.

    Args:
        path: File of the automation.
        declared: Content of the file.
        deployments: All that the server has or will have, as FLOW/DEPLOYMENT.
        blocks: The server's notification blocks.

    Raises:
        InputError: Prefect rejects it, or it names a deployment that does not exist.
    """
    name = str(declared.get("name"))
    actions, warnings = [], []
    for action in declared.get("actions", []):
        block, deployment = action.get("block"), action.get("deployment")
        if deployment is not None and deployment not in deployments:
            raise InputError(f"{path}, automation {name}: neither a file nor the server has a deployment {deployment}")
        if block is None or block in blocks:
            actions.append(action)
            continue
        actions.append(NOTHING)
        warnings.append(
            f"automation {name} notifies nobody: the server has no notification block {block}; make one of that name "
            "on its page Blocks, such as Slack Webhook, and apply again"
        )
    declared = {**declared, "actions": actions}
    document = _understood(path, declared)

    def write(client: SyncPrefectClient, there: UUID | None) -> None:
        ids = {
            "deployment": lambda full: client.read_deployment_by_name(full).id,
            "block": lambda block: blocks[block],
        }
        core = AutomationCore.model_validate(_with_ids(declared, ids))
        if there is None:
            client.create_automation(core)
        else:
            # The client sends only fields that are set; others keep the server's value, such as being switched off.
            client.update_automation(there, AutomationCore.model_validate(core.model_dump(exclude={"owner_resource"})))

    return Wanted("automation", name, document, write), warnings


def found_automations(
    there: Sequence[Automation], ours: set[str], deployments: Mapping[UUID, str], blocks: Mapping[UUID, str]
) -> list[Found]:
    """Return the automations that the server has.

    Args:
        there: The server's automations, as Prefect returns them.
        ours: The names in the files.
        deployments: Names of the server's deployments, as FLOW/DEPLOYMENT.
        blocks: Names of the server's notification blocks.

    Raises:
        InputError: Two of them share a name that the files use.
    """
    names = [automation.name for automation in there]
    for name in sorted(ours):
        if names.count(name) > 1:
            raise InputError(
                f"the server has {names.count(name)} automations {name}, which would all act; delete all but one "
                "on its page Automations"
            )
    of = {"deployment": deployments, "block": blocks}
    return [Found("automation", automation.name, automation.id, _document(automation, of)) for automation in there]


def _understood(path: Path, declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return an automation as Prefect parses it."""
    stand_ins: dict[str, UUID] = {}

    def stand_in(name: str) -> UUID:
        return stand_ins.setdefault(name, uuid4())

    named = f"{path}, automation {declared.get('name')}"
    try:
        given = _with_ids(declared, dict.fromkeys(NAMED, stand_in))
        core = AutomationCore.model_validate(given)
    except ValidationError as error:
        raise InputError(f"{named}: {first_fault(error)}; correct it") from None
    unknown = next(_unknown(given, core.model_dump(mode="json")), None)
    if unknown is not None:
        raise InputError(f"{named}: Prefect knows no {unknown}; correct it")
    names = {identity: name for name, identity in stand_ins.items()}
    return _document(core, {"deployment": names, "block": names})


def _with_ids(declared: Mapping[str, Any], ids: Mapping[str, Callable[[str], UUID]]) -> dict[str, Any]:
    actions = []
    for action in declared.get("actions", []):
        given = dict(action)
        for name, field in NAMED.items():
            if name in given:
                given[field] = str(ids[name](given.pop(name)))
        actions.append(given)
    return {**declared, "actions": actions}


def _document(core: AutomationCore, names: Mapping[str, Mapping[UUID, str]]) -> dict[str, Any]:
    document = core.model_dump(mode="json", exclude=IN_NO_DOCUMENT)
    for field in SETS:
        if field in document["trigger"]:
            document["trigger"][field] = sorted(document["trigger"][field])
    for action in document["actions"]:
        for name, field in NAMED.items():
            if action.get(field):
                identity = UUID(action.pop(field))
                action[name] = names[name].get(identity, str(identity))
    document["actions"] = dict(enumerate(document["actions"], start=1))
    return document


def _unknown(given: Any, understood: Any, way: str = "") -> Iterator[str]:
    if isinstance(given, Mapping) and isinstance(understood, Mapping):
        for key, value in given.items():
            if key not in understood:
                yield f"{way}{key}"
            else:
                yield from _unknown(value, understood[key], f"{way}{key}.")
    elif isinstance(given, list) and isinstance(understood, list) and len(given) == len(understood):
        for one, other in zip(given, understood, strict=True):
            yield from _unknown(one, other, way)
