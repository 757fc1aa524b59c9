"""Guided error correction of EDGE-GRPO (2507.21848): a right answer among rollouts that are all wrong.

A group without a right answer teaches only what to avoid, and nothing if all its rewards are equal. The paper gives
each wrong rollout the reference solution with a probability of a quarter (and otherwise the bare answer, or a second
try); here one rollout of an all-wrong group is replaced, so that a group is never mostly copies of one text.
"""

import random
from collections.abc import Sequence

from schemas.config.train import TrainConfig
from schemas.references import REFERENCES, ExtractionFields
from schemas.tables.prompts import PromptRow
from tasks.commerce.registry import TASKS


def corrections(
    recipe: TrainConfig, prompts: Sequence[PromptRow], rewards: Sequence[Sequence[float]], *, seed: int, draw: int
) -> dict[int, str]:
    """Return the reference answers that replace completions, by the completion's index among all that were sampled.

    `rewards` are the totals of each group's completions, in [0, 1]; `draw` numbers this sampling in the training, the
    same when it is resumed.
    """
    settings = recipe.guided_correction
    chosen = choose_corrections(rewards, share=settings.share, threshold=settings.threshold, seed=seed, draw=draw)
    return {
        group * recipe.generations + place: answer
        for group, place in chosen
        if (answer := reference_answer(prompts[group])) is not None
    }


def choose_corrections(
    rewards: Sequence[Sequence[float]], *, share: float, threshold: float, seed: int, draw: int
) -> list[tuple[int, int]]:
    """Choose the rollouts that a reference answer replaces: the worst of a group, the last of equals."""
    generator = random.Random(f"{seed} guided correction {draw}")
    # Every group draws a number, so that one group's rewards do not affect the choice of another.
    numbers = [generator.random() for _ in rewards]
    return [
        (group, min(range(len(values)), key=lambda place: (values[place], -place)))
        for group, (values, number) in enumerate(zip(rewards, numbers, strict=True))
        if number < share and max(values) < threshold
    ]


def reference_answer(row: PromptRow) -> str | None:
    """Return the right answer to a prompt, or None if its reference is incomplete.

    A task's `answer` fills null values with something plausible, which the reward does not score: as an example it
    would teach a guess as if it were known. So every part must be known: all ten fields of an extraction, polarity and
    score, product and offer, at least one fact. The rating of an extraction may be null, as only guesses are made from
    it. Real stores know two or three of the ten fields, so their extractions are never given.
    """
    if row.task == "extraction":
        known, parts = row.reference.get("fields") or {}, ExtractionFields.model_fields
    else:
        known, parts = row.reference, REFERENCES[row.task].model_fields
    if any(known.get(part) in (None, []) for part in parts):
        return None
    return TASKS[row.task].answer(row.reference)
