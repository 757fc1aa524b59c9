"""A new champion takes over between two requests; a failed check, or a registry that is away, ends nothing."""

import asyncio
from collections.abc import Awaitable, Callable

from schemas.errors import GateRefused
from tasks.serve.champion_watcher import follow
from tasks.serve.deployment import DeployedVersion
from tasks.serve.engine_client import EngineClient
from tasks.serve.gateway.answering import Metrics
from tests.gateway import served_model


class _Serving:
    """What the registry says, what is deployed, and what is broken."""

    def __init__(self) -> None:
        self.deployment, self.metrics = _deployment("1"), Metrics()
        self.champion: str | None = "1"
        self.broken: set[str] = set()
        """`registry`, `disk`, or a version's number."""
        self.looks, self.deployed = 0, list[str]()

    def find(self) -> str | None:
        self.looks += 1
        if "registry" in self.broken:
            raise ConnectionError("no route to a registry")
        return self.champion

    async def deploy(self, number: str) -> DeployedVersion:
        self.deployed.append(number)
        if "disk" in self.broken:
            raise OSError(28, "No space left on device")
        if number in self.broken:
            raise GateRefused("it does not answer as it was evaluated")
        return _deployment(number)

    def count(self, outcome: str) -> float | None:
        return self.metrics._registry.get_sample_value("tucano_switches_total", {"outcome": outcome})

    async def wait(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not holds():
                await asyncio.sleep(0.005)

    async def serves(self, number: str) -> None:
        self.champion = number
        await self.wait(lambda: self.deployment.model.number == number)

    async def look_again(self) -> None:
        seen = self.looks
        await self.wait(lambda: self.looks > seen + 1)


def _deployment(number: str) -> DeployedVersion:
    return DeployedVersion(served_model(number), EngineClient("http://127.0.0.1:9/v1", connections=1))


def _followed(steps: Callable[[_Serving], Awaitable[None]]) -> None:
    async def run() -> None:
        serving = _Serving()
        following = follow(serving, "1", serving.find, serving.deploy, serving.metrics, seconds=0.005)  # type: ignore[arg-type]
        task = asyncio.create_task(following)
        try:
            await steps(serving)
        finally:
            task.cancel()
            await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(run())


def test_requests_under_way_end_on_the_old_version() -> None:
    async def steps(serving: _Serving) -> None:
        old, closed = serving.deployment, asyncio.Event()

        async def close() -> None:
            closed.set()

        old.client.close = close  # type: ignore[method-assign]
        with old.answering():
            await serving.serves("2")
            await serving.look_again()
            assert not closed.is_set()
        await serving.wait(lambda: closed.is_set() and serving.count("switched") == 1)

    _followed(steps)


def test_a_version_that_fails_its_check_is_tried_once_until_another_one_was_the_champion() -> None:
    async def steps(serving: _Serving) -> None:
        serving.broken, serving.champion = {"2"}, "2"
        await serving.wait(lambda: serving.count("refused") == 1)
        await serving.look_again()
        assert (serving.deployment.model.number, serving.deployed) == ("1", ["2"])
        for other in ("1", "3"):
            serving.broken = {"2"}
            await serving.serves(other)
            await serving.look_again()
            serving.broken = set()
            await serving.serves("2")
        assert serving.count("refused") == 1

    _followed(steps)


def test_a_registry_or_a_disk_that_is_away_changes_nothing() -> None:
    async def steps(serving: _Serving) -> None:
        serving.broken = {"registry"}
        await serving.look_again()
        serving.broken, serving.champion = set(), None
        await serving.look_again()
        serving.broken, serving.champion = {"disk"}, "2"
        await serving.wait(lambda: len(serving.deployed) > 1)
        assert serving.deployment.model.number == "1"
        serving.broken = set()
        await serving.serves("2")
        await serving.serves("3")

    _followed(steps)
