"""Real llama.cpp reads an exported GGUF file as the version: its prompts, tokens, answers and log-probabilities.

`make test-llama` makes the environment of llama.cpp and runs this. The files are the shipped stand-in's, which was
trained, the pretrained Llama's of `make real-model`, where it was made, and those of random weights with a tokenizer
and a chat template like Tucano2's.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from math import sqrt
from pathlib import Path
from typing import Any

import httpx
import pytest

from schemas.progress import silent
from schemas.source import REPOSITORY
from schemas.tables.prompts import read_prompts
from tasks.policy.published import shipped
from tasks.serve.export.child import PROMPTS
from tasks.serve.export.gguf_file import PRECISIONS, Precision, write_gguf
from tasks.serve.export.proof import Original, ask_original, load_exact
from tests.flows.command import in_this_process
from tests.tasks.serve.export.models import save_model

pytestmark = [pytest.mark.llama, pytest.mark.timeout(1800)]

INTERPRETER = REPOSITORY / ".venv-llama" / "bin" / "python"
REAL = REPOSITORY / ".cache" / "real-model"
LONGEST = 128
MOST_APART = {"F16": 1e-3, "Q8_0": 1.5e-2}
"""Root mean square difference of log-probabilities in nats, four times what was measured: llama.cpp also rounds what a
layer hands on, to half precision or to 8 bits."""
LAYERS_OF_REAL = 8
"""The pretrained model has 30 layers, and each rounds: 2.1e-3 in half precision and 5.6e-2 in 8 bits were measured."""
EQUAL_SHARE = 0.95
"""Answers in half precision may part where the version's two best tokens are nearly as likely."""


@contextmanager
def _served(file: Path) -> Iterator[httpx.Client]:
    """Serve a file by llama.cpp in the block; a command that ran here has taken the current folder off the path."""
    command = [str(INTERPRETER), "-m", "tests.contracts.llama.child", str(file)]
    settings: Any = {"env": {**os.environ, "PYTHONPATH": str(REPOSITORY)}, "text": True, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **settings) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            with httpx.Client(base_url=child.stdout.readline().strip(), timeout=600) as client:
                yield client
        finally:
            child.stdin.close()
            child.kill()


def _asked(client: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.post(path, json=body)
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def _compare_prompts(client: httpx.Client, original: Original) -> int:
    """Require that the server writes and reads every prompt as training did; return how many tokens were compared."""
    compared = 0
    for conversation, text in zip(original.conversations, original.texts, strict=True):
        assert _asked(client, "/apply-template", {"messages": conversation})["prompt"] == text
        own = original.tokenizer.encode(text, add_special_tokens=False)
        # As it reads the prompts of chats, where it would add a BOS token.
        found = _asked(client, "/tokenize", {"content": text, "add_special": True, "parse_special": True})["tokens"]
        assert found == own, text
        compared += len(own)
    return compared


@pytest.fixture(scope="module", params=["stand-in", "real", "sentencepiece", "byte-level words"])
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Original]:
    """A model and its answers to prompts of a simulated store."""
    trained = {"stand-in": shipped(), "real": REAL}
    weights = trained.get(request.param) or save_model(tmp_path_factory.mktemp("model"), kind=request.param)
    if not weights.is_dir():
        pytest.skip("`make real-model` was not run here")
    folder = tmp_path_factory.mktemp("shop") / "prompts"
    ended = in_this_process("synthesize", "--count", str(PROMPTS), "--seed", "5", "--out", folder)
    assert ended.returncode == 0, ended.stderr
    rows = read_prompts(folder / "prompts.parquet")[:: 1 if weights == shipped() else 10]
    return weights, ask_original(load_exact(weights), weights, rows, None, LONGEST, silent)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_model_answers_as_here(precision: Precision, asked: tuple[Path, Original], tmp_path: Path) -> None:
    file, (weights, original) = tmp_path / "m.gguf", asked
    write_gguf(weights, file, precision, name="m")
    equal, squares = 0, []
    with _served(file) as client:
        tokens = _compare_prompts(client, original)
        for text, own, weighed in zip(original.texts, original.answers, original.log_probabilities, strict=False):
            request = {"prompt": text, "n_predict": LONGEST, "temperature": 0, "n_probs": 1, "return_tokens": True}
            found = _asked(client, "/completion", {**request, "cache_prompt": False})
            mine: Sequence[int] = original.tokenizer.encode(own.text, add_special_tokens=False)
            # Of a turn's end, the server says only that it came.
            equal += found["content"] == own.text
            pairs = zip(mine, found["tokens"], weighed, found["completion_probabilities"], strict=False)
            same = takewhile(lambda each: each[0] == each[1], pairs)
            squares += [(likely - its["logprob"]) ** 2 for _, _, likely, its in same]
    apart = sqrt(sum(squares) / len(squares))
    print(
        f"{precision}: {tokens} prompt tokens equal; {equal} of {len(original.answers)} greedy answers equal; "
        f"{len(squares)} tokens' log-probabilities are {apart:.1e} apart"
    )
    assert apart <= MOST_APART[precision] * (LAYERS_OF_REAL if weights == REAL else 1)
    if precision == "F16":
        assert equal >= EQUAL_SHARE * len(original.answers)
