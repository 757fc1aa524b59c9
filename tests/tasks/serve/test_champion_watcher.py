"""A new champion takes over between two requests; a failed check, or a registry that is away, ends nothing."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from schemas.errors import GateRefused
from tasks.serve.champion_watcher import follow
from tasks.serve.deployment import DeployedVersion
from tasks.serve.engine_client import EngineClient
from tasks.serve.gateway.answering import Metrics
from tests.gateway import served_model


@dataclass
class _Serving:
    """What the registry says, what is deployed, and what was reported."""

    deployment: DeployedVersion
    champion: str | None = "1"
    is_away: bool = False
    disk_is_full: bool = False
    damaged: frozenset[str] = frozenset()
    looks: int = 0
    deployed: list[str] = field(default_factory=list)
    metrics: Metrics = field(default_factory=Metrics)

    def find(self) -> str | None:
        self.looks += 1
        if self.is_away:
            raise ConnectionError("no route to a registry")
        return self.champion

    async def deploy(self, number: str) -> DeployedVersion:
        self.deployed.append(number)
        if self.disk_is_full:
            raise OSError(28, "No space left on device")
        if number in self.damaged:
            raise GateRefused("it does not answer as it was evaluated")
        return _deployment(number)

    def count(self, outcome: str) -> float | None:
        return self.metrics._registry.get_sample_value("tucano_switches_total", {"outcome": outcome})

    async def wait(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not holds():
                await asyncio.sleep(0.005)

    async def look_again(self) -> None:
        seen = self.looks
        await self.wait(lambda: self.looks > seen + 1)


def _deployment(number: str) -> DeployedVersion:
    return DeployedVersion(served_model(number), EngineClient("http://127.0.0.1:9/v1", connections=1))


def _followed(serving: _Serving, steps: Callable[[_Serving], object]) -> None:
    async def run() -> None:
        task = asyncio.create_task(
            follow(serving, "1", serving.find, serving.deploy, serving.metrics, seconds=0.005)  # type: ignore[arg-type]
        )
        try:
            await steps(serving)  # type: ignore[misc]
        finally:
            task.cancel()
            await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(run())


def test_requests_under_way_end_on_the_old_version() -> None:
    old = _deployment("1")

    async def steps(serving: _Serving) -> None:
        retired = asyncio.Event()
        close = old.client.close

        async def closed() -> None:
            await close()
            retired.set()

        old.client.close = closed  # type: ignore[method-assign]
        with old.answering():
            serving.champion = "2"
            await serving.wait(lambda: serving.deployment.model.number == "2")
            await serving.look_again()
            assert not retired.is_set()
        await asyncio.wait_for(retired.wait(), 10)
        await serving.wait(lambda: serving.count("switched") == 1)

    _followed(_Serving(old), steps)


def test_a_version_that_fails_its_check_is_tried_once_until_another_one_was_the_champion() -> None:
    async def steps(serving: _Serving) -> None:
        serving.damaged, serving.champion = frozenset({"2"}), "2"
        await serving.wait(lambda: serving.count("refused") == 1)
        await serving.look_again()
        assert (serving.deployment.model.number, serving.deployed) == ("1", ["2"])
        for other in ("1", "3"):
            serving.damaged, serving.champion = frozenset({"2"}), other
            await serving.wait(lambda: serving.deployment.model.number == serving.champion)
            await serving.look_again()
            serving.damaged, serving.champion = frozenset(), "2"
            await serving.wait(lambda: serving.deployment.model.number == "2")
        assert serving.count("refused") == 1

    _followed(_Serving(_deployment("1")), steps)


def test_a_registry_or_a_disk_that_is_away_changes_nothing() -> None:
    async def steps(serving: _Serving) -> None:
        serving.is_away = True
        await serving.look_again()
        serving.is_away, serving.champion = False, None
        await serving.look_again()
        serving.disk_is_full, serving.champion = True, "2"
        await serving.wait(lambda: len(serving.deployed) > 1)
        assert serving.deployment.model.number == "1"
        serving.disk_is_full = False
        await serving.wait(lambda: serving.deployment.model.number == "2")
        serving.champion = "3"
        await serving.wait(lambda: serving.deployment.model.number == "3")

    _followed(_Serving(_deployment("1")), steps)
