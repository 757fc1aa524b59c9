"""A team's Prefect server: its address, its key, what it has, and what its refusals mean to a person."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from flows.server import reachable
from flows.session import running_server
from schemas.config import Config
from schemas.errors import InputError

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.objects import WorkPool
    from prefect.client.schemas.responses import DeploymentResponse
    from prefect.events.schemas.automations import Automation

PAGE = 200
"""The most that Prefect's server gives at a time."""
KEYS = "PREFECT_API_AUTH_STRING=USER:PASSWORD for a server of your own, or PREFECT_API_KEY for Prefect Cloud"
MOST_SHOWN = 300
"""Characters of the server's own words."""

_Thing = TypeVar("_Thing")


@dataclass(frozen=True)
class Server:
    """What a server has."""

    pools: tuple["WorkPool", ...]
    deployments: tuple["DeploymentResponse", ...]
    flows: Mapping[UUID, str]
    """The names of its flows."""
    automations: tuple["Automation", ...]
    blocks: Mapping[str, UUID]
    """Its notification blocks by name."""

    def deployment_names(self) -> dict[UUID, str]:
        """Return each deployment's name as FLOW/DEPLOYMENT."""
        return {each.id: f"{self.flows[each.flow_id]}/{each.name}" for each in self.deployments}


def server_address(config: Config) -> str:
    """Say where the server is: PREFECT_API_URL, or the one that `tucano ui` serves over the state folder.

    Raises:
        InputError: Nobody says where it is, or nobody answers there.
    """
    # Prefect reads both where it is imported.
    os.environ.setdefault("DO_NOT_TRACK", "1")
    os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    address = os.environ.get("PREFECT_API_URL") or running_server(config.state.root) or _address_of_profile()
    if address is None:
        raise InputError(
            "no Prefect server is named: set PREFECT_API_URL, such as http://127.0.0.1:4200/api, or start one over the "
            f"state folder with: tucano ui --root {config.state.root}"
        )
    if not reachable(address):
        raise InputError(
            f"no Prefect server answers at {shown(address)}; start it, or correct PREFECT_API_URL, which ends in /api"
        )
    return address


def shown(address: str) -> str:
    """Return an address without a password."""
    return re.sub(r"//[^/@]*@", "//", address)


@contextmanager
def connected(address: str) -> Iterator["SyncPrefectClient"]:
    """Talk to a server.

    Raises:
        InputError: It does not take our key, fails, is changed by somebody else while it is read, or answers as no
            Prefect server does.
    """
    import httpx
    from prefect.client.orchestration import get_client
    from prefect.exceptions import PrefectException
    from prefect.settings import PREFECT_API_URL, temporary_settings

    try:
        with temporary_settings({PREFECT_API_URL: address}), get_client(sync_client=True) as client:
            yield client
    except (httpx.HTTPError, PrefectException, ValueError) as error:
        raise InputError(refusal(error, address)) from None


def refusal(error: Exception, address: str, *, read_before: bool = False) -> str:
    """Say in a sentence what a failed request means.

    Args:
        error: Of the request.
        address: The server's.
        read_before: The server has answered already, so that what it does not know has gone since.
    """
    import httpx
    from prefect.exceptions import PrefectException

    where = f"the Prefect server at {shown(address)}"
    # For some codes Prefect has exceptions of its own, around the one that says what happened.
    read_before = read_before or isinstance(error, PrefectException)
    error = getattr(error, "http_exc", error)
    if not isinstance(error, httpx.HTTPStatusError):
        what = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        return f"{where} cannot be talked to ({what}); correct PREFECT_API_URL, or try again"
    code = error.response.status_code
    if read_before and code in {httpx.codes.NOT_FOUND, httpx.codes.CONFLICT}:
        return f"{where} was changed by somebody else meanwhile ({code}: {error.response.text[:MOST_SHOWN]})"
    if code == httpx.codes.UNAUTHORIZED:
        given = [name for name in ("PREFECT_API_AUTH_STRING", "PREFECT_API_KEY") if name in os.environ]
        why = f"does not take what {' and '.join(given)} says" if given else "asks for a key, and none is set"
        return f"{where} {why} ({code}); set {KEYS}"
    if code == httpx.codes.FORBIDDEN:
        return f"{where} forbids it ({code}: {error.response.text[:MOST_SHOWN]}); a key that may is set by {KEYS}"
    if code == httpx.codes.NOT_FOUND:
        return f"{where} is none, or too old ({code} for {error.request.url.path}); correct PREFECT_API_URL"
    return f"{where} answers {code}: {error.response.text[:MOST_SHOWN]}"


def read_server(client: "SyncPrefectClient") -> Server:
    """Read all that the files could be about."""
    blocks = _every(lambda offset: client.read_block_documents(limit=PAGE, offset=offset, include_secrets=False))
    deployments = _every(lambda offset: client.read_deployments(limit=PAGE, offset=offset))
    flows = {flow.id: flow.name for flow in _every(lambda offset: client.read_flows(limit=PAGE, offset=offset))}
    return Server(
        pools=_every(lambda offset: client.read_work_pools(limit=PAGE, offset=offset)),
        # With its flow, a deployment that was there a moment ago is deleted too.
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
    from prefect.settings import get_current_settings

    return get_current_settings().api.url
