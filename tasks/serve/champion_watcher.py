"""Following of the registry: a new champion is loaded beside the old, checked, and takes over between two requests."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from schemas.errors import TucanoError
from tasks.serve.deployment import DeployedVersion
from tasks.serve.gateway.answering import AnswerService, Metrics

Find = Callable[[], str | None]
"""Returns the number of the registry's champion; None where there is none. Blocks."""
Deploy = Callable[[str], Awaitable[DeployedVersion]]
"""Loads a version, and checks it; raises `TucanoError` where it is not to serve."""

_log = logging.getLogger(__name__)


async def follow(
    answering: AnswerService, serving: str, find: Find, deploy: Deploy, metrics: Metrics, *, seconds: float
) -> None:
    """Follow the registry until this is cancelled, from the version with the number `serving` on.

    Each switch and each refusal is logged and counted; the registry is looked at every so many seconds.
    """
    refused: str | None = None
    unloaded: str | None = None
    is_away = False
    retiring: set[asyncio.Task[None]] = set()

    try:
        while True:
            await asyncio.sleep(seconds)
            try:
                number = await asyncio.to_thread(find)
            except Exception as error:  # noqa: BLE001 - a registry that is away, in whichever way, ends no service
                if not is_away:
                    _log.warning("the registry does not answer (%s); version %s goes on", type(error).__name__, serving)
                is_away = True
                continue
            is_away = False
            if number is None or number in {serving, refused}:
                # A version that was refused is tried again once another one was the champion meanwhile.
                refused = refused if number == refused else None
                continue
            try:
                new = await deploy(number)
            except TucanoError as error:
                refused = number
                _log.error("version %s does not take over: %s; version %s goes on", number, error, serving)
                metrics.switches.labels("refused").inc()
                continue
            except Exception as error:  # noqa: BLE001 - a full disk or a registry that went away may come back
                if number != unloaded:
                    _log.error("version %s cannot be loaded now (%r); version %s goes on", number, error, serving)
                unloaded = number
                continue
            old, answering.deployment = answering.deployment, new
            _log.warning("version %s takes over from version %s", number, serving)
            serving, refused = number, None
            task = asyncio.create_task(old.retire())
            retiring.add(task)
            task.add_done_callback(retiring.discard)
            metrics.switches.labels("switched").inc()
    finally:
        await asyncio.gather(*retiring)
