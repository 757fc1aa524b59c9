"""Answers of one model to the validation split, and groups of its free answers: the child process of cheap scores.

No test prompt is read. Answers as served follow the evaluation's decoding. Groups follow the training's, and are what
GRPO would compare: the best of a group against its mean is the room that reinforcement has. Weights are not quantized.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from schemas.tables.prompts import TRAIN_FILE, VALIDATION_FILE, PromptRow, read_prompts
from schemas.tasks import Guided, SpecName, TaskName
from tasks.commerce.registry import SERVED, grammar_of
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.text.lexicons import read_wording
from tasks.plan.scores import WORDING, CheapScores, Group, Model, Served
from tasks.plan.scoring import scored_as_served
from tasks.policy.child import Channel, as_child

QUESTION: Final = "{question}"
"""Place of an instruction that takes the prompt's question; elsewhere the instruction is the first line."""


class DrawRequest(BaseModel):
    """Request to the child process."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Model
    """The rung of its answers."""
    model: Path
    dataset: Path
    """Folder of the dataset artifact; its test split is not read."""
    store: Path
    spec: SpecName
    seed: int
    temperature: float
    """Temperature of the answers as served."""
    max_tokens: int
    batch_size: int
    guided: str = ""
    """Rung of answers that are all guided, where they differ from those that are served; none if empty."""
    group_prompts: int
    """Validation prompts of a task that get a group; none if 0."""
    group_size: int
    group_temperature: float
    group_guided: Guided
    wording_prompts: int = 0
    """Training prompts of a task that choose its wording; none is sought if 0."""
    output: Path


def main(request_file: Path, channel: Channel) -> None:
    """Draw, score and write the scores; InputError where the model cannot be read or guided."""
    request = DrawRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    rows = read_prompts(request.dataset / VALIDATION_FILE)
    channel.progress(0, 1, "loading torch")
    draws = _Draws(request, Databases.open(request.store), channel)
    served = draws.served(request.name, rows)
    if request.guided:
        # The answers of what has no further grammar are the same.
        further = [row for row in rows if _grammar(row, "all") != _grammar(row, SERVED)]
        again = {each.prompt_id: each for each in draws.served(request.guided, further, "all")}
        kept = [again.get(each.prompt_id) or each.model_copy(update={"rung": request.guided}) for each in served]
        served = [*served, *kept]
    if request.wording_prompts:
        served += draws.best_wording(rows)
    groups = draws.groups(_some_of_each(rows, request.group_prompts, request.seed)) if request.group_prompts else []
    CheapScores(served=tuple(served), groups=tuple(groups), tokens=draws.tokens).write(request.output)


class _Draws:
    """A loaded model, its scorer, and the tokens that it was asked for."""

    def __init__(self, request: DrawRequest, databases: Databases, channel: Channel) -> None:
        import transformers

        from tasks.policy.load import load_policy, load_tokenizer

        transformers.utils.logging.disable_progress_bar()
        self._request, self._databases, self._channel = request, databases, channel
        self._model, self._tokenizer = load_policy(request.model, None, four_bit=False), load_tokenizer(request.model)
        self.tokens = 0

    def served(self, rung: str, rows: Sequence[PromptRow], guided: Guided = SERVED) -> list[Served]:
        """Answer each prompt once, as it would be served."""
        request = self._request
        (drawn,) = self._draw(rows, [request.seed], request.temperature, guided)
        return self._scored(rung, rows, drawn)

    def groups(self, rows: Sequence[PromptRow]) -> list[Group]:
        """Answer each prompt several times, as a training draws."""
        request = self._request
        seeds = [request.seed + 1 + number for number in range(request.group_size)]
        drawn = self._draw(rows, seeds, request.group_temperature, request.group_guided)
        scores = [[each.score for each in self._scored(request.name, rows, of_seed)] for of_seed in drawn]
        return [
            Group(model=request.name, task=row.task, prompt_id=row.prompt_id, scores=tuple(of_prompt))
            for row, *of_prompt in zip(rows, *scores, strict=True)
        ]

    def best_wording(self, rows: Sequence[PromptRow]) -> list[Served]:
        """Answer each prompt in the wording of its task that earns most on training prompts."""
        request = self._request
        training = read_prompts(request.dataset / TRAIN_FILE)
        choosing = _some_of_each(training, request.wording_prompts, request.seed)
        chosen = choose_wordings(choosing, lambda asked: [each.score for each in self.served(WORDING, asked)])
        return self.served(WORDING, [_in_wording(row, chosen.get(row.task)) for row in rows])

    def _draw(self, rows: Sequence[PromptRow], seeds: Sequence[int], temperature: float, guided: Guided) -> Any:
        from tasks.policy.generate import as_messages, generate_samples

        samples = generate_samples(
            self._model,
            self._tokenizer,
            [as_messages(row.system, row.prompt) for row in rows],
            temperature=temperature,
            max_tokens=self._request.max_tokens,
            batch_size=self._request.batch_size,
            seeds=seeds,
            grammars=[_grammar(row, guided) for row in rows],
            progress=self._channel.progress,
        )
        self.tokens += sum(each.tokens for sample in samples for each in sample)
        return [[each.text for each in sample] for sample in samples]

    def _scored(self, rung: str, rows: Sequence[PromptRow], texts: Sequence[str]) -> list[Served]:
        return scored_as_served(rung, rows, texts, self._databases, self._request.spec)


def _grammar(row: PromptRow, guided: Guided) -> str:
    return grammar_of(row.task, row.prompt, guided)


def _in_wording(row: PromptRow, instruction: str | None) -> PromptRow:
    return row if instruction is None else reworded(row, instruction) or row


def reworded(row: PromptRow, instruction: str) -> PromptRow | None:
    """Return the prompt with another instruction; None where its own is none of the shipped ones."""
    first, _, rest = row.prompt.partition("\n")
    for known in sorted(read_wording(row.task).instructions, key=len, reverse=True):
        before, place, after = known.partition(QUESTION)
        if not place and first == known:
            return replace(row, prompt=f"{instruction}\n{rest}")
        if place and row.prompt.startswith(before) and row.prompt.endswith(after):
            question = row.prompt[len(before) : len(row.prompt) - len(after)]
            return replace(row, prompt=instruction.replace(QUESTION, question))
    return None


def choose_wordings(
    rows: Sequence[PromptRow], scores_of: Callable[[Sequence[PromptRow]], Sequence[float]]
) -> Mapping[TaskName, str]:
    """Return each task's instruction that earns most on training prompts, the first of ties."""
    asked = [
        (row.task, instruction, new)
        for row in rows
        for instruction in read_wording(row.task).instructions
        if (new := reworded(row, instruction)) is not None
    ]
    earned: dict[TaskName, dict[str, list[float]]] = {}
    for (task, instruction, _), score in zip(asked, scores_of([new for *_, new in asked]), strict=True):
        earned.setdefault(task, {}).setdefault(instruction, []).append(score)
    return {task: max(found, key=lambda each: fmean(found[each])) for task, found in earned.items()}


def _some_of_each(rows: Sequence[PromptRow], count: int, seed: int) -> list[PromptRow]:
    """Return at most so many random prompts of each task."""
    found: list[PromptRow] = []
    for task in dict.fromkeys(row.task for row in rows):
        of_task = [row for row in rows if row.task == task]
        found += random.Random(f"{seed} {task} plan").sample(of_task, min(count, len(of_task)))
    return found


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
