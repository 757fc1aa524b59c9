"""An engine's process is watched: it is ready once it answers, comes back after a kill, and ends with its requests."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from schemas.errors import InputError, TucanoError
from tasks.policy.child import ChildProcess
from tasks.serve.engines.client import EngineClient
from tasks.serve.engines.vllm import EngineProcess

SERVER = """
import sys
from http.server import BaseHTTPRequestHandler
from socketserver import UnixStreamServer
from functools import partial
from pathlib import Path
Path(sys.argv[1]).unlink(missing_ok=True)
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *_): pass
    def address_string(self): return ""
UnixStreamServer(sys.argv[1], Handler).serve_forever()
"""


def _runs(socket: Path, program: str = SERVER) -> Callable[[Callable[[ChildProcess], object]], None]:
    def run(started: Callable[[ChildProcess], object]) -> None:
        process = subprocess.Popen([sys.executable, "-c", program, str(socket)], text=True, start_new_session=True)
        started(process)
        if process.wait() == 2:
            raise InputError("the weights are gone; bring them back")

    return run


def _engine(socket: Path, program: str = SERVER) -> EngineProcess:
    client = EngineClient("http://engine/v1", socket=socket, connections=2)
    return EngineProcess("version 1", _runs(socket, program), client, seconds_to_load=60)


def test_an_engine_that_is_killed_comes_back_by_itself(tmp_path: Path) -> None:
    async def lives() -> None:
        engine = _engine(tmp_path / "socket")
        await engine.start()
        assert engine.ready.is_set()
        first = engine.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        async with asyncio.timeout(20):
            while engine.pid in {first, None} or not engine.ready.is_set():
                await asyncio.sleep(0.02)
        assert engine.starts == 2
        second = engine.pid
        await engine.stop()
        assert second is not None
        with pytest.raises(ProcessLookupError):
            os.kill(second, 0)

    asyncio.run(lives())


def test_an_engine_that_ends_while_it_loads_is_refused_in_its_own_sentence(tmp_path: Path) -> None:
    async def fails() -> None:
        with pytest.raises(InputError, match="bring them back"):
            await _engine(tmp_path / "socket", "import sys; sys.exit(2)").start()
        with pytest.raises(TucanoError, match="the engine of version 1 ended"):
            await _engine(tmp_path / "socket", "pass").start()

    asyncio.run(fails())


def test_an_engine_is_ended_while_it_loads(tmp_path: Path) -> None:
    async def ends() -> None:
        engine = _engine(tmp_path / "socket", "import time; time.sleep(600)")
        starting = asyncio.create_task(engine.start())
        while engine.pid is None:
            await asyncio.sleep(0.02)
        starting.cancel()
        async with asyncio.timeout(20):
            await engine.stop()

    asyncio.run(ends())


def test_an_engine_that_hangs_while_it_loads_is_ended_with_a_sentence(tmp_path: Path) -> None:
    async def hangs() -> None:
        client = EngineClient("http://engine/v1", socket=tmp_path / "socket", connections=2)
        runs = _runs(tmp_path / "socket", "import time; time.sleep(600)")
        engine = EngineProcess("version 1", runs, client, seconds_to_load=0.5)
        with pytest.raises(TucanoError, match=r"did not answer within 0\.5 seconds; raise serve\.seconds_to_load"):
            await engine.start()
        assert engine.pid is not None
        with pytest.raises(ProcessLookupError):
            os.kill(engine.pid, 0)

    asyncio.run(hangs())


def test_an_engine_that_hangs_is_killed_and_comes_back(tmp_path: Path) -> None:
    async def lives() -> None:
        client = EngineClient("http://engine/v1", socket=tmp_path / "socket", connections=2)
        client.is_healthy = partial(_soon_healthy, client)  # type: ignore[method-assign]
        runs = _runs(tmp_path / "socket")
        engine = EngineProcess("version 1", runs, client, seconds_to_load=60, seconds_of_silence=0.5)
        await engine.start()
        first = engine.pid
        assert first is not None
        os.kill(first, signal.SIGSTOP)
        async with asyncio.timeout(30):
            while engine.pid in {first, None} or not engine.ready.is_set():
                await asyncio.sleep(0.02)
        await engine.stop()

    asyncio.run(lives())


async def _soon_healthy(client: EngineClient) -> bool:
    """Ask as the client does, but wait for less than its seconds."""
    try:
        async with asyncio.timeout(0.3):
            return await EngineClient.is_healthy(client)
    except TimeoutError:
        return False


def test_an_engine_that_cannot_be_started_for_a_while_comes_back(tmp_path: Path) -> None:
    runs, calls = _runs(tmp_path / "socket"), 0

    def run(started: Callable[[ChildProcess], object]) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise OSError(28, "No space left on device")
        runs(started)

    async def lives() -> None:
        client = EngineClient("http://engine/v1", socket=tmp_path / "socket", connections=2)
        engine = EngineProcess("version 1", run, client, seconds_to_load=60)
        await engine.start()
        assert engine.pid is not None
        os.kill(engine.pid, signal.SIGKILL)
        async with asyncio.timeout(20):
            while engine.starts < 3 or not engine.ready.is_set():
                await asyncio.sleep(0.02)
        await engine.stop()

    asyncio.run(lives())
