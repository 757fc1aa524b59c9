"""vLLM as it ships (https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html), on a Unix socket.

Its process is watched until it answers, started again where it ends by itself, and ended. It is started as a module:
the command `vllm serve` does not start with vLLM's build for CPUs.
"""

import asyncio
import contextlib
import ctypes
import json
import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

from schemas.errors import InputError, Interrupted, TucanoError
from tasks.policy.child import ChildProcess, end_group
from tasks.serve.engines.client import EngineClient
from tasks.serve.served_model import CHAMPION

PR_SET_PDEATHSIG: Final = 1
LORA_RANKS: Final = (8, 16, 32, 64, 128, 256, 320, 512)
"""Largest ranks that vLLM can be prepared for; it refuses another number."""
SECONDS_TO_END: Final = 10.0
"""Time for the answers under way when an engine ends."""
QUIET: Final[Mapping[str, str]] = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}
"""Nothing about a shop's model is sent anywhere."""
SECONDS_BETWEEN_LOOKS: Final = 0.1
SECONDS_OF_SILENCE: Final = 60.0
LOOKS_IN_SILENCE: Final = 12
"""Looks at the health of an engine that answers, in the time after which a silent one is killed."""
FIRST_WAIT: Final = 1.0
LONGEST_WAIT: Final = 15.0
"""Seconds before an engine that never answered is started again, doubled each time."""

RunEngine = Callable[[Callable[[ChildProcess], object]], object]
"""Runs an engine until it ends, in a thread, and passes on its process; raises `TucanoError` where it failed."""

_log = logging.getLogger(__name__)


def vllm_command(
    interpreter: Path, weights: Path, adapters: Mapping[str, Path], socket: Path, arguments: Sequence[str]
) -> list[str]:
    """Return the command that serves weights, and adapters by their names.

    Args:
        interpreter: The Python of vLLM's environment.
        weights: Folder of the model.
        adapters: PEFT folders by name.
        socket: The Unix socket to listen on.
        arguments: Further arguments.
    """
    command = [str(interpreter), "-m", "vllm.entrypoints.openai.api_server", "--model", str(weights)]
    command += ["--served-model-name", CHAMPION, "--uds", str(socket)]
    if adapters:
        largest = max(_rank(folder) for folder in adapters.values())
        rank = next((known for known in LORA_RANKS if known >= largest), largest)
        modules = [f"{name}={folder}" for name, folder in adapters.items()]
        command += ["--enable-lora", "--max-lora-rank", str(rank), "--lora-modules", *modules]
    return [*command, *arguments]


def run_vllm(command: Sequence[str], socket: Path, log_file: Path, started: Callable[[ChildProcess], object]) -> None:
    """Run vLLM until it ends.

    Args:
        command: As `vllm_command` returns it.
        socket: Its socket; one that a killed vLLM left is removed.
        log_file: Its log.
        started: Called with its process.

    Raises:
        InputError: The command cannot be started.
        TucanoError: It ended by itself.
    """
    log_file.parent.mkdir(parents=True, exist_ok=True)
    socket.unlink(missing_ok=True)
    # Loaded here: between fork and exec nothing may be imported.
    libc = ctypes.CDLL(None)
    with log_file.open("ab") as log:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **QUIET},
                start_new_session=True,
                # It ends with the thread that waits for it below, and so with the gateway, however that ends.
                preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM),  # noqa: PLW1509 - one system call
                text=True,
            )
        except OSError as error:
            raise InputError(
                f"serve.vllm_interpreter {command[0]} cannot be started ({error.strerror}); install vLLM in an "
                "environment of its own and name its bin/python, or set serve.engine='local'"
            ) from None
    try:
        started(process)
        code = process.wait()
    except BaseException:
        end_group(process, SECONDS_TO_END)
        raise
    finally:
        # Its workers outlive a killed server.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    raise TucanoError(f"vLLM ended with exit code {code}; its log is {log_file}")


def _rank(adapter: Path) -> int:
    try:
        return int(json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))["r"])
    except (OSError, ValueError, KeyError):
        raise InputError(f"the adapter {adapter} has no readable adapter_config.json; export it again") from None


class EngineProcess:
    """An engine of this machine."""

    def __init__(
        self,
        name: str,
        run: RunEngine,
        client: EngineClient,
        *,
        seconds_to_load: float,
        seconds_of_silence: float = SECONDS_OF_SILENCE,
    ) -> None:
        """Describe an engine, which does not run yet.

        Args:
            name: Name for the log, such as `version 3`.
            run: Runs it.
            client: Reaches it.
            seconds_to_load: Time after which an engine that never answered is ended.
            seconds_of_silence: Time without any answer about its health after which it is killed and started again.
        """
        self._seconds_to_load, self._seconds_of_silence = seconds_to_load, seconds_of_silence
        self._name, self._run, self._client = name, run, client
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="engine")
        self._child: ChildProcess | None = None
        self._ended: asyncio.Future[object] | None = None
        self._watching: asyncio.Task[None] | None = None
        self.ready = asyncio.Event()
        """Set while the engine answers."""
        self.starts = 0
        """How often it was started."""

    @property
    def pid(self) -> int | None:
        """Number of its process; None while there is none."""
        return self._child.pid if self._child is not None else None

    async def start(self) -> None:
        """Start the engine, and return once it answers.

        Raises:
            TucanoError: It ended before, or did not answer in time.
        """
        ended = self._begin()
        failure = await self._failed_to_load(ended)
        if failure is not None:
            await self.stop()
            raise failure
        self._watching = asyncio.create_task(self._watch(ended))

    async def stop(self) -> None:
        """End the engine; what it answers ends first."""
        if self._watching is not None:
            self._watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watching
        self.ready.clear()
        # A process that is just being started is not known yet.
        while self._ended is not None and not self._ended.done():
            if self._child is not None:
                await asyncio.to_thread(end_group, self._child, SECONDS_TO_END)
            await asyncio.wait([self._ended], timeout=SECONDS_BETWEEN_LOOKS)
        if self._ended is not None:
            # An engine that is asked to end may say that it did not end well, which nobody needs to know.
            self._ended.exception()
        await asyncio.to_thread(self._thread.shutdown)

    async def _watch(self, ended: "asyncio.Future[object]") -> None:
        """Start the engine again whenever it ends."""
        wait = FIRST_WAIT
        while True:
            await self._end_or_silence(ended)
            self.ready.clear()
            _log.warning("%s; it is started again", _failure(ended, self._name))
            began = time.monotonic()
            ended = self._begin()
            failure = await self._failed_to_load(ended)
            if failure is None:
                _log.warning("the engine of %s answers again after %.1f s", self._name, time.monotonic() - began)
                wait = FIRST_WAIT
            else:
                _log.warning("%s", failure)
                await asyncio.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT)

    async def _end_or_silence(self, ended: "asyncio.Future[object]") -> None:
        """Wait until the engine ends, or kill it where it is silent: one that hangs would not end by itself."""
        heard = time.monotonic()
        while not ended.done():
            await asyncio.wait([ended], timeout=self._seconds_of_silence / LOOKS_IN_SILENCE)
            if await self._client.is_healthy():
                heard = time.monotonic()
            elif time.monotonic() - heard > self._seconds_of_silence and self._child is not None:
                _log.warning("the engine of %s has not answered for %.0f s", self._name, time.monotonic() - heard)
                await asyncio.to_thread(end_group, self._child, 0)
                await asyncio.wait([ended])

    def _begin(self) -> "asyncio.Future[object]":
        self.starts += 1
        self._child = None
        self._ended = asyncio.get_running_loop().run_in_executor(self._thread, self._run, self._keep)
        return self._ended

    def _keep(self, child: ChildProcess) -> None:
        self._child = child

    async def _failed_to_load(self, ended: "asyncio.Future[object]") -> TucanoError | None:
        """Wait until the engine answers; return why it does not, where it ended or is ended for its slowness."""
        began = time.monotonic()
        while not ended.done():
            if await self._client.is_healthy():
                self.ready.set()
                return None
            if time.monotonic() - began > self._seconds_to_load and self._child is not None:
                await asyncio.to_thread(end_group, self._child, 0)
                await asyncio.wait([ended])
                return TucanoError(
                    f"the engine of {self._name} did not answer within {self._seconds_to_load:g} seconds; raise "
                    "serve.seconds_to_load if it needs longer to load"
                )
            await asyncio.wait([ended], timeout=SECONDS_BETWEEN_LOOKS)
        return _failure(ended, self._name)


def _failure(ended: "asyncio.Future[object]", name: str) -> TucanoError:
    error = ended.exception()
    if isinstance(error, Interrupted):
        return TucanoError(f"the engine of {name} was killed")
    if isinstance(error, TucanoError):
        return error
    if error is not None:
        # Such as a full disk, on which no request to it can be written.
        failure = TucanoError(f"the engine of {name} cannot be started: {error!r}")
        failure.__cause__ = error
        return failure
    return TucanoError(f"the engine of {name} ended by itself")
