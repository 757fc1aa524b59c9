"""Address and content of a team's Prefect server."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from flows.runtime.prefect_server import reachable, shown
from flows.runtime.session import running_server
from schemas.config.config import Config
from schemas.errors import InputError

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.objects import WorkPool
    from prefect.client.schemas.responses import DeploymentResponse
    from prefect.events.schemas.automations import Automation

PAGE = 200
"""Most items in one response of Prefect's server."""
_Thing = TypeVar("_Thing")


@dataclass(frozen=True)
class Server:
    """Content of a server."""

    pools: tuple["WorkPool", ...]
    deployments: tuple["DeploymentResponse", ...]
    flows: Mapping[UUID, str]
    """Names of its flows."""
    automations: tuple["Automation", ...]
    blocks: Mapping[str, UUID]
    """Its notification blocks by name."""

    def deployment_names(self) -> dict[UUID, str]:
        """Return each deployment's name as FLOW/DEPLOYMENT."""
        return {each.id: f"{self.flows[each.flow_id]}/{each.name}" for each in self.deployments}


def server_address(config: Config) -> str:
    """Return the server's address: PREFECT_API_URL, or that of `tucano ui` for this state folder.

    Raises:
        InputError: There is no address, or no server answers there.
    """
    os.environ.setdefault("DO_NOT_TRACK", "1")
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    address = os.environ.get("PREFECT_API_URL") or running_server(config.state.root) or _address_of_profile()
    if address is None:
        raise InputError(
            "no Prefect server is named: set PREFECT_API_URL, such as http://127.0.0.1:4200/api, or start one over the "
            f"state folder with: tucano ui --state {config.state.root}"
        )
    if not reachable(address):
        raise InputError(
            f"no Prefect server answers at {shown(address)}; start it, or correct PREFECT_API_URL, which ends in /api"
        )
    return address


def read_server(client: "SyncPrefectClient") -> Server:
    """Read everything on the server that the files could declare."""
    blocks = _every(lambda offset: client.read_block_documents(limit=PAGE, offset=offset, include_secrets=False))
    deployments = _every(lambda offset: client.read_deployments(limit=PAGE, offset=offset))
    flows = {flow.id: flow.name for flow in _every(lambda offset: client.read_flows(limit=PAGE, offset=offset))}
    return Server(
        pools=_every(lambda offset: client.read_work_pools(limit=PAGE, offset=offset)),
        # Deleting a flow deletes its deployments, even one that was listed a moment ago.
        deployments=tuple(each for each in deployments if each.flow_id in flows),
        flows=flows,
        automations=_every(lambda offset: client.read_automations(limit=PAGE, offset=offset)),
        blocks={
            str(block.name): block.id
            for block in blocks
            if block.block_schema is not None and "notify" in block.block_schema.capabilities
        },
    )


def _every(page: Callable[[int], list[_Thing]]) -> tuple[_Thing, ...]:
    things: list[_Thing] = []
    while True:
        more = page(len(things))
        things += more
        if len(more) < PAGE:
            return tuple(things)


def _address_of_profile() -> str | None:
    # Prefect reads what `server_address` sets when it is imported.
    from prefect.settings import get_current_settings  # noqa: PLC0415

    return get_current_settings().api.url
