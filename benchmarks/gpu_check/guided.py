"""Guided decoding by vLLM: answers under their tasks' grammars, which the gateway hands to it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.gpu_check.base import SEED, Row, Scale, row_of
from benchmarks.gpu_check.inputs import CONTEXT_TOKENS, inputs_of
from schemas.tables.prompts import TEST_FILE, read_prompts
from tasks.commerce.registry import grammar_of
from tasks.policy.generate import as_messages

if TYPE_CHECKING:
    from llguidance import LLMatcher

TOKENS: Final = 64


def measure(scale: Scale, work: Path) -> Iterator[Row]:
    """Yield how many answers of random weights, which alone follow no grammar, are beginnings of one."""
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    from tasks.policy.guidance import Grammars
    from tasks.policy.load import load_tokenizer

    base = inputs_of(scale, work).base
    rows = read_prompts(inputs_of(scale, work).dataset / TEST_FILE)
    grammars = [grammar_of(row.task, row.prompt, "all") for row in rows]
    engine = LLM(str(base), gpu_memory_utilization=scale.share / 2, max_model_len=CONTEXT_TOKENS, enforce_eager=True)
    asked = [
        SamplingParams(max_tokens=TOKENS, seed=SEED, structured_outputs=StructuredOutputsParams(grammar=grammar))
        for grammar in grammars
    ]
    answers = engine.chat([as_messages(row.system, row.prompt) for row in rows], asked, use_tqdm=False)
    tokenizer = load_tokenizer(base)
    known = Grammars(tokenizer, scale.policy.vocabulary)
    kept = sum(
        follows(known.start(grammar), answer.outputs[0].token_ids, tokenizer.eos_token_id)
        for grammar, answer in zip(grammars, answers, strict=True)
    )
    yield row_of("guided answers, vLLM", f"{kept} of {len(rows)} follow", "all", within=kept == len(rows))


def follows(matcher: "LLMatcher", tokens: Sequence[int], end: int) -> bool:
    """Return whether an answer is one of its grammar, or the beginning of one where it is cut off."""
    written = [token for token in tokens if token != end]
    return matcher.try_consume_tokens(written) == len(written) > 0 and (end not in tokens or matcher.is_accepting())
