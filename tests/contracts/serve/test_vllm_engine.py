"""The pinned vLLM on a CPU behind the gateway's own client: the same answers, cached prefixes, grammars.

`make test-serve` makes the environment of vLLM's build for CPUs and runs this.
"""

import asyncio
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final
from unittest.mock import patch

import httpx
import pytest
import torch

from schemas.source import REPOSITORY
from tasks.commerce.registry import TASKS
from tasks.policy.child import end_group
from tasks.policy.generate import as_messages, generate, tokens_of
from tasks.policy.load import load_policy, load_tokenizer
from tasks.policy.published import shipped
from tasks.serve.engine_client import EngineAnswer, EngineClient, EngineQuestion
from tasks.serve.questions import question_of
from tasks.serve.served_model import CHAMPION
from tests.contracts.tokenizers.published import KINDS
from tests.gateway import wait_for
from tests.house import free_port
from tests.tasks.serve.export import models
from tests.tasks.serve.test_engine_client import using

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(1200)]

INTERPRETER: Final = REPOSITORY / ".venv-vllm" / "bin" / "python"
# A prefix is kept in whole blocks, and a system prompt of the stand-in has fewer tokens than a CPU's block of 128.
ON_A_CPU: Final = (
    "--dtype=float32",
    "--enforce-eager",
    "--enable-prefix-caching",
    "--max-num-seqs=16",
    "--block-size=32",
)
ENVIRONMENT: Final = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
REVIEWS: Final = ("Chegou quebrado", "Amei, recomendo", "Demorou, mas veio certo", "Não é o que pedi")
TOKENS: Final = 24
HITS: Final = re.compile(r"^vllm:prefix_cache_hits_total\{.*\} ([0-9.e+]+)$", re.MULTILINE)
COLD: Final = 1e-4
"""Temperature at which both always draw the most likely token."""
TIE: Final = 0.02
"""Difference of two logits, of some tens, that vLLM may take for another: random weights enlarge errors of rounding."""


def _question(review: str, *, guided: bool = False) -> EngineQuestion:
    row, grammar = question_of("sentiment", {"review": review}), TASKS["sentiment"].grammar if guided else ""
    return EngineQuestion(CHAMPION, as_messages(row.system, row.prompt), COLD, TOKENS, None, grammar)


@pytest.fixture(scope="module", params=["stand-in", *KINDS[:2]])
def vllm(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Serve the stand-in, or random weights with a published tokenizer; yield the server's address and its model."""
    kind = request.param
    # vLLM has no heads of less than 32 on a CPU.
    with patch.object(models, "SMALL", models.SMALL.model_copy(update={"hidden_size": 128})):
        base = shipped() if kind == "stand-in" else models.save_model(tmp_path_factory.mktemp("model"), kind=kind)
    url = f"http://127.0.0.1:{free_port()}"
    command = [str(INTERPRETER), "-m", "vllm.entrypoints.openai.api_server", "--model", str(base), *ON_A_CPU]
    command += ["--served-model-name", CHAMPION, "--host", "127.0.0.1", "--port", url.rpartition(":")[2]]
    with (tmp_path_factory.mktemp("vllm") / "log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env={**os.environ, **ENVIRONMENT}, start_new_session=True
        )
    try:
        wait_for(lambda: using(f"{url}/v1", lambda client: client.is_healthy()) or process.poll() is not None, 600)
        yield url, base
    finally:
        end_group(process, 20)


def _asked(url: str, *questions: EngineQuestion) -> list[EngineAnswer]:
    async def ask() -> list[EngineAnswer]:
        client = EngineClient(f"{url}/v1", connections=8)
        try:
            return [await client.complete(question) for question in questions]
        finally:
            await client.close()

    return asyncio.run(ask())


def _by_transformers(base: Path) -> list[str]:
    """Return the answers of here: with random weights each up to where another token is nearly as likely."""
    rows = [question_of("sentiment", {"review": review}) for review in REVIEWS]
    conversations = [as_messages(row.system, row.prompt) for row in rows]
    policy, tokenizer = load_policy(base, None, four_bit=False), load_tokenizer(base)
    if base == shipped():
        drawn = generate(policy, tokenizer, conversations, temperature=COLD, max_tokens=TOKENS, batch_size=1, seed=0)
        return [answer.text for answer in drawn]
    answers = []
    for conversation in conversations:
        ids, taken = tokens_of(tokenizer, conversation), list[int]()
        while len(taken) < TOKENS and tokenizer.eos_token_id not in taken:
            likely = policy(torch.tensor([[*ids, *taken]])).logits[0, -1].detach().topk(2)
            if likely.values[0] - likely.values[1] < TIE:
                break
            taken.append(int(likely.indices[0]))
        # Bytes of a character that was not finished.
        answers.append(tokenizer.decode(taken, skip_special_tokens=True).rstrip("\N{REPLACEMENT CHARACTER}"))
    return answers


def test_answers_are_those_of_here_prefixes_are_kept_and_grammars_guide(vllm: tuple[str, Path]) -> None:
    url, base = vllm
    answers = _asked(url, *map(_question, REVIEWS))
    texts, own = [answer.text for answer in answers], _by_transformers(base)
    assert [text[: len(of_here)] for text, of_here in zip(texts, own, strict=True)] == own
    assert texts == own or base != shipped()
    assert len("".join(own)) > 2 * TOKENS
    hits = HITS.findall(httpx.get(f"{url}/metrics").text)
    print("tokens of prompts that were found in the cache:", hits)
    assert sum(map(float, hits)) > 0
    # Long enough for the whole object.
    (guided,) = _asked(url, replace(_question(REVIEWS[0], guided=True), max_tokens=64))
    assert guided.text.lstrip().startswith("{")
    if base == shipped():  # Random weights write blanks without an end, which the grammar allows.
        served = TASKS["sentiment"].serve(guided.text, "", None)
        assert served.checked
        assert isinstance(served.parsed, dict)
        assert served.parsed.keys() == {"polarity", "score"}
