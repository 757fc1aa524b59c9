"""vLLM as it ships (https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html), on a Unix socket.

It is started as a module: the command `vllm serve` does not start with vLLM's build for CPUs.
"""

import ctypes
import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from schemas.errors import InputError, TucanoError
from tasks.policy.child import ChildProcess, end_group
from tasks.serve.served_model import CHAMPION

PR_SET_PDEATHSIG: Final = 1
LORA_RANKS: Final = (8, 16, 32, 64, 128, 256, 320, 512)
"""Largest ranks that vLLM can be prepared for; it refuses another number."""
SECONDS_TO_END: Final = 10.0
QUIET: Final[Mapping[str, str]] = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}
"""Nothing about a shop's model is sent anywhere."""


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
