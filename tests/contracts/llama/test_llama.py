"""Real llama.cpp reads an exported GGUF file as the version: its prompts, tokens, answers and log-probabilities.

`make test-llama` makes the environment of llama.cpp and runs this. The files are the shipped stand-in's, which was
trained, the pretrained Llama's of `make real-model`, where it was made, and those of random weights with a tokenizer
and a chat template like Tucano2's.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from math import sqrt
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

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
"""Root mean square difference of log-probabilities in nats; llama.cpp also rounds what a layer hands on, to half
precision or to 8 bits. The stand-in's are 4.1e-4 and 5.4e-3."""
MOST_BELOW = {"F16": 4e-3, "Q8_0": 8e-2}
"""Nats that a token which llama.cpp takes for the most likely may lie below the version's; 1.9e-4 and 3.8e-2."""
ROUNDED_MORE = 8
"""Times these, for the others: 30 layers round the pretrained model (1.9e-3 and 4.9e-2 apart), and random weights give
logits that are far apart (at most 4.4e-3 and 5.3e-2)."""
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
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Original]:
    """A model and its answers to prompts of a simulated store."""
    trained = {"stand-in": shipped(), "real": REAL}
    weights = trained.get(request.param) or save_model(tmp_path_factory.mktemp("model"), kind=request.param)
    if not weights.is_dir():
        pytest.skip("`make real-model` was not run here")
    folder = tmp_path_factory.mktemp("shop") / "prompts"
    ended = in_this_process("synthesize", "--count", str(PROMPTS), "--seed", "5", "--out", folder)
    assert ended.returncode == 0, ended.stderr
    rows = read_prompts(folder / "prompts.parquet")[:: 1 if weights == shipped() else 10]
    model = load_exact(weights)
    return weights, model, ask_original(model, weights, rows, None, LONGEST, silent)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_model_answers_as_here(precision: Precision, asked: tuple[Path, Any, Original], tmp_path: Path) -> None:
    file, (weights, model, original) = tmp_path / "m.gguf", asked
    write_gguf(weights, file, precision, name="m")
    equal, squares, shortfalls = 0, [], []
    with _served(file) as client:
        tokens = _compare_prompts(client, original)
        for text, own in zip(original.texts, original.answers, strict=False):
            request = {"prompt": text, "n_predict": LONGEST, "temperature": 0, "n_probs": 1, "return_tokens": True}
            found = _asked(client, "/completion", {**request, "cache_prompt": False})
            equal += found["content"] == own.text
            before = original.tokenizer.encode(text, add_special_tokens=False)
            with torch.inference_mode():
                logits = model(input_ids=torch.tensor([[*before, *found["tokens"]]])).logits[0, len(before) - 1 : -1]
            likely = torch.log_softmax(logits.float(), dim=-1)
            weighed = likely[range(len(likely)), found["tokens"]]
            shortfalls += (likely.max(dim=1).values - weighed).tolist()
            # A token that ends inside a character has no entry of its own, and those after it are out of step.
            pairs = zip(found["tokens"], weighed.tolist(), found["completion_probabilities"], strict=False)
            in_step = takewhile(lambda pair: pair[0] == pair[2]["id"], pairs)
            squares += [(own_value - entry["logprob"]) ** 2 for _, own_value, entry in in_step]
    apart = sqrt(sum(squares) / len(squares))
    print(
        f"{precision}: {tokens} prompt tokens equal; {equal} of {len(original.answers)} greedy answers equal; "
        f"{len(shortfalls)} tokens at most {max(shortfalls):.1e} nats below the most likely; "
        f"{len(squares)} log-probabilities {apart:.1e} apart"
    )
    times = 1 if weights == shipped() else ROUNDED_MORE
    assert apart <= MOST_APART[precision] * times
    assert max(shortfalls) <= MOST_BELOW[precision] * times
    # Models of random weights write bytes that are no text.
    if precision == "F16" and weights in (shipped(), REAL):
        assert equal >= EQUAL_SHARE * len(original.answers)
