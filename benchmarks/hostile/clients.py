"""Clients that attack: each sends what it has, behaves as it is told, and says what came back."""

import asyncio
import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from benchmarks.hostile.writer import Attack

CLIENTS: Final = 24
"""Attacks at once, beside the connections that are held."""
LONGEST: Final = 60.0
"""Seconds for an answer; none comes later than the gateway's deadline."""
SECONDS_QUIET: Final = 0.15
"""Time without any byte after which a client that got its answer goes."""
SECONDS_BEFORE_ANOTHER: Final = 2.0
_STATUS: Final = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
_REQUEST_ID: Final = re.compile(rb'"(?:request_id|id)": ?"([a-z_]+-[0-9a-f]{32})"')


@dataclass
class Fate:
    """What became of an attack."""

    attack: Attack
    statuses: tuple[int, ...] = ()
    request_ids: tuple[str, ...] = ()
    """Of the answers that were received."""
    is_hanging: bool = False
    """Whether nothing came, and the connection stayed."""


@dataclass
class Siege:
    """All attacks on one port."""

    port: int
    fates: list[Fate] = field(default_factory=list)
    held: int = 0
    """Connections that were opened to be held, those included that took the place of closed ones."""

    async def attack(self, attacks: Iterable[Attack]) -> None:
        """Send all attacks, and hold those connections that are to be held until the others ended."""
        every = list(attacks)
        holding = [asyncio.create_task(self._hold(each)) for each in every if each.manner == "hold"]
        others = iter([each for each in every if each.manner != "hold"])

        async def work() -> None:
            for each in others:
                self.fates.append(await self._fate(each))

        await asyncio.gather(*(work() for _ in range(CLIENTS)))
        for task in holding:
            task.cancel()
        await asyncio.wait(holding or [asyncio.create_task(asyncio.sleep(0))])
        self.fates += [Fate(each) for each in every if each.manner == "hold"]

    async def _hold(self, attack: Attack) -> None:
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                self.held += 1
                try:
                    writer.write(attack.sent)
                    await reader.read()
                finally:
                    writer.close()
            await asyncio.sleep(SECONDS_BEFORE_ANOTHER)

    async def _fate(self, attack: Attack) -> Fate:
        received = bytearray()
        is_hanging = False
        try:
            async with asyncio.timeout(LONGEST):
                await self._send(attack, received)
        except TimeoutError:
            is_hanging = True
        except OSError:
            pass
        statuses = tuple(int(status) for status in _STATUS.findall(received))
        return Fate(
            attack,
            tuple(status for status in statuses if status != 100),
            tuple(dict.fromkeys(found.decode() for found in _REQUEST_ID.findall(received))),
            is_hanging,
        )

    async def _send(self, attack: Attack, received: bytearray) -> None:
        sock = socket.socket()
        if attack.manner == "unread":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self.port))
        reader, writer = await asyncio.open_connection(sock=sock, limit=4096 if attack.manner == "unread" else 1 << 20)
        try:
            if attack.manner == "drip":
                await _drip(attack.sent, reader, writer, received)
                return
            writer.write(attack.sent)
            if attack.manner == "leave":
                await _leave(attack, reader, writer)
            elif attack.manner == "unread":
                await writer.drain()
                await asyncio.sleep(1)
            else:
                await _read(reader, received)
        finally:
            writer.transport.abort()


async def _drip(sent: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, received: bytearray) -> None:
    """Send what is before the zero at once, and the rest letter by letter, until the gateway has had enough."""
    begin, _, rest = sent.partition(b"\0")
    writer.write(begin)
    for letter in rest:
        writer.write(bytes([letter]))
        with suppress(TimeoutError):
            piece = await asyncio.wait_for(reader.read(4096), 0.5)
            received += piece
            return
    received += await reader.read(4096)


async def _leave(attack: Attack, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Leave at a moment that the length of the request decides: at once, a little later, or within the answer."""
    await writer.drain()
    moment = len(attack.sent) % 3
    if moment == 1:
        await asyncio.sleep(0.05)
    elif moment == 2:
        with suppress(TimeoutError):
            await asyncio.wait_for(reader.read(400), 5)


async def _read(reader: asyncio.StreamReader, received: bytearray) -> None:
    """Read until the connection ends, or until an answer has come and nothing follows."""
    while True:
        try:
            wait = SECONDS_QUIET if _STATUS.search(received) else None
            piece = await asyncio.wait_for(reader.read(1 << 16), wait)
        except TimeoutError:
            return
        if not piece:
            return
        received += piece
