"""Answers of an endpoint's model to the test split, asked like the others; every answer is saved on arrival.

A few prompts are asked first: a model that returns nothing but thoughts to them is not paid for the rest.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from schemas.config.evaluate import RivalConfig
from schemas.progress import Progress
from schemas.tables.prompts import TEST_FILE, read_prompts
from tasks.evaluate.answers.files import Answer, Batch, FinishedBatches, as_decoding, write_answers
from tasks.policy.control_tokens import END_OF_THOUGHT, THINK
from tasks.policy.endpoint import Endpoint, EndpointError, EndpointQuestion, Reply
from tasks.policy.generate import StopReason

STOP_REASONS: Final = {"stop": StopReason.END_OF_TURN, "length": StopReason.TOKEN_LIMIT}
"""OpenAI's names of the two stop reasons of our own policies; every other one is `other`."""
FIRST_PROMPTS: Final = 3  # Prompts asked before all others, spread evenly over the test split.


def answer_by_rival(
    rival: RivalConfig,
    dataset: Path,
    *,
    temperature: float,
    max_tokens: int,
    samples: int,
    seed: int,
    work: Path,
    output: Path,
    progress: Progress,
) -> None:
    """Ask the remaining prompts, and write the artifact's files.

    InputError where the endpoint cannot be used, its first answers are all empty, or its key is not in the environment.
    """
    max_tokens = rival.max_tokens or max_tokens
    rows = read_prompts(dataset / TEST_FILE)
    finished = FinishedBatches(work)
    all_places = ((sample, index) for sample in range(samples) for index in range(len(rows)))
    places = {f"{sample}/{index}": (sample, index) for sample, index in all_places if (sample, index) not in finished}
    questions = [
        EndpointQuestion(key, rows[index].system, rows[index].prompt, _question_seed(seed, sample, index))
        for key, (sample, index) in places.items()
    ]

    def keep(key: str, reply: Reply) -> None:
        sample, index = places[key]
        answer = Answer(
            index=index,
            text=after_thought(reply.text),
            tokens=reply.completion_tokens,
            stop_reason=STOP_REASONS.get(reply.stop_reason or "", StopReason.OTHER),
            prompt_tokens=reply.prompt_tokens,
        )
        finished.add(Batch(sample=sample, number=index, seconds=reply.seconds, answers=(answer,)))
        progress(finished.answers, samples * len(rows), "answers")

    if questions:
        endpoint = Endpoint(
            rival,
            purpose=f"rival {rival.name}'s",
            section=f"evaluate.rivals.{rival.name}",
            otherwise=f"take {rival.name} out of evaluate.rivals to compare without it",
            temperature=temperature,
            max_tokens=max_tokens,
            body=rival.body,
        )
        if not finished.batches:
            first = questions[: len(rows) : -(-len(rows) // FIRST_PROMPTS)]
            for key, reply in _first_replies(endpoint, first, rival, max_tokens).items():
                keep(key, reply)
            questions = [question for question in questions if question not in first]
        failure = endpoint.ask_all(questions, keep)
        if failure is not None:
            raise EndpointError(failure)
    write_answers(output, rows, finished.batches, as_decoding(temperature, max_tokens), ours=False)


def _first_replies(
    endpoint: Endpoint, questions: Sequence[EndpointQuestion], rival: RivalConfig, max_tokens: int
) -> dict[str, Reply]:
    """Ask the first questions, and return their replies by key; at least one holds an answer."""
    replies: dict[str, Reply] = {}
    failure = endpoint.ask_all(questions, replies.__setitem__)
    if failure is not None:
        raise EndpointError(failure)
    if not any(after_thought(reply.text).strip() for reply in replies.values()):
        raise EndpointError(
            f"the rival {rival.name}'s endpoint {rival.url} gave only thoughts, or nothing, for each of the first "
            f"{len(questions)} prompts within {max_tokens} tokens; raise evaluate.rivals.{rival.name}.max_tokens, or "
            "switch its thinking off with body = { chat_template_kwargs = { enable_thinking = false } }"
        )
    return replies


def after_thought(text: str) -> str:
    """Return the answer after a model's thought, if the endpoint did not separate the two itself."""
    _, ended, answer = text.rpartition(END_OF_THOUGHT)
    if ended:
        return answer.lstrip()
    return "" if text.lstrip().startswith(THINK) else text


def _question_seed(seed: int, sample: int, index: int) -> int:
    """Return a seed that endpoints of any kind accept, below 2**31."""
    return int(np.random.SeedSequence((seed, sample, index)).generate_state(1)[0] >> np.uint32(1))
