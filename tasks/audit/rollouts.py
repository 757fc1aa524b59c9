"""Sampling of the base policy for the sheet, several answers per prompt at temperature 1; a child process.

People score these completions because GRPO would compare the same ones. Answers of which people read a rendering are
guided by their grammar: of those that an untrained base gives otherwise, there is nothing to read.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from schemas.references import knows_anything
from schemas.tables.prompts import TRAIN_FILE, PromptRow, read_prompts
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.shown import RENDERERS
from tasks.commerce.registry import grammar_of
from tasks.policy.child import Channel, as_child

TEMPERATURE: Final = 1.0


class RolloutRequest(BaseModel):
    """Request of the sheet stage to its child process."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: Path
    load_in_4bit: bool
    dataset: Path
    tasks: tuple[TaskName, ...] = TASK_NAMES
    prompts_per_task: int
    completions_per_prompt: int
    max_tokens: int
    batch_size: int
    seed: int
    output: Path


def main(request_file: Path, channel: Channel) -> None:
    """Write the rollouts."""
    request = RolloutRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    channel.progress(0, 1, "loading torch")

    import transformers

    from tasks.policy.generate import as_messages, generate, write_rollouts
    from tasks.policy.load import load_policy, load_tokenizer

    transformers.utils.logging.disable_progress_bar()
    known = read_prompts(request.dataset / TRAIN_FILE)
    drawn = draw_prompts([row for row in known if row.task in request.tasks], request.prompts_per_task, request.seed)
    rows = [row for row in drawn for _ in range(request.completions_per_prompt)]
    completions = generate(
        load_policy(request.base, None, four_bit=request.load_in_4bit),
        load_tokenizer(request.base),
        [as_messages(row.system, row.prompt) for row in rows],
        temperature=TEMPERATURE,
        max_tokens=request.max_tokens,
        batch_size=request.batch_size,
        seed=request.seed,
        grammars=[grammar_of(row.task, row.prompt, "all") if row.task in RENDERERS else "" for row in rows],
        progress=channel.progress,
    )
    write_rollouts(request.output, rows, completions)


def draw_prompts(rows: Sequence[PromptRow], per_task: int, seed: int) -> list[PromptRow]:
    """Draw random prompts of each task, fewer if it has fewer.

    Those without a reference are drawn only where a task has no others: a reward cannot rank answers by what it does
    not know.
    """
    found: list[PromptRow] = []
    for task in sorted({row.task for row in rows}):
        of_task = [row for row in rows if row.task == task]
        known = [row for row in of_task if knows_anything(row.reference)] or of_task
        found += random.Random(f"{seed} {task}").sample(known, min(per_task, len(known)))
    return found


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
