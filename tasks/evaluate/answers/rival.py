"""A model at an endpoint answers the test split, asked as the others are; every answer is kept as it comes."""

from pathlib import Path
from typing import Final

import numpy as np

from schemas.evaluate_config import RivalConfig
from schemas.progress import Progress
from schemas.prompts import TEST_FILE, read_prompts
from tasks.evaluate.answers_file import Answer, Batch, FinishedBatches, as_decoding, write_answers
from tasks.policy.endpoint import Endpoint, EndpointError, Question, Reply
from tasks.policy.generate import StopReason

STOP_REASONS: Final = {"stop": StopReason.END_OF_TURN, "length": StopReason.TOKEN_LIMIT}
"""What OpenAI's form calls the two ends that a policy of ours has; every other word is `other`."""


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
    """Ask for what is not answered yet, and write the artifact's files.

    Args:
        rival: The endpoint.
        dataset: Folder of the dataset artifact; only its test split is read.
        temperature: Sampling temperature.
        max_tokens: Longest answer, in the endpoint's tokens.
        samples: Answers to each prompt.
        seed: The run's, for endpoints that sample by one.
        work: Folder of the answers so far, for this endpoint, test split and decoding alone.
        output: Folder for the artifact's files.
        progress: Told the answers that are there and in all.

    Raises:
        InputError: The endpoint cannot be used, or its key is not in the environment.
    """
    rows = read_prompts(dataset / TEST_FILE)
    finished = FinishedBatches(work)
    places = {
        f"{sample}/{index}": (sample, index)
        for sample in range(samples)
        for index in range(len(rows))
        if (sample, index) not in finished
    }
    questions = [
        Question(key, rows[index].system, rows[index].prompt, _question_seed(seed, sample, index))
        for key, (sample, index) in places.items()
    ]

    def keep(key: str, reply: Reply) -> None:
        sample, index = places[key]
        answer = Answer(
            index=index,
            text=reply.text,
            tokens=reply.completion_tokens,
            stop_reason=STOP_REASONS.get(reply.stop_reason or "", StopReason.OTHER),
            prompt_tokens=reply.prompt_tokens,
        )
        finished.add(Batch(sample=sample, number=index, seconds=reply.seconds, answers=(answer,)))
        progress(finished.answers, samples * len(rows), "answers")

    if questions:
        with Endpoint(
            rival,
            purpose="rival's",
            section="evaluate.rival",
            otherwise="take evaluate.rival out of the configuration to compare without it",
            temperature=temperature,
            max_tokens=max_tokens,
        ) as endpoint:
            failure = endpoint.ask_all(questions, keep)
        if failure is not None:
            raise EndpointError(failure)
    write_answers(output, rows, finished.batches, as_decoding(temperature, max_tokens), ours=False)


def _question_seed(seed: int, sample: int, index: int) -> int:
    """Return a seed that an endpoint of any kind takes, below 2**31."""
    return int(np.random.SeedSequence((seed, sample, index)).generate_state(1)[0] >> np.uint32(1))
