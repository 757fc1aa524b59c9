"""Trained policy in use: answers of the evaluation's child, and the merged model."""

import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.gpu_check.base import SEED, Row, Scale, row_of
from benchmarks.gpu_check.inputs import UNINTERRUPTED, inputs_of, recipe_of
from schemas.progress import silent
from schemas.tables.prompts import TEST_FILE, read_prompts
from tasks.evaluate.answers.answer import AnswerRequest
from tasks.evaluate.answers.files import read_answers
from tasks.policy.child import run_child
from tasks.policy.load import ADAPTER_FOLDER
from tasks.policy.merge import MergeRequest, read_check


def measure(scale: Scale, work: Path) -> Iterator[Row]:
    """Yield the checks of the adapter that the group before trained."""
    policy = work / UNINTERRUPTED / "output"
    if not (policy / ADAPTER_FOLDER).exists():
        yield Row("answers and merge", "no adapter was trained before", "", "not here")
        return
    os.environ.update(scale.allocator_settings())
    yield _answers_row(scale, work, policy)
    yield _merge_row(scale, work, policy)


def _answers_row(scale: Scale, work: Path, policy: Path) -> Row:
    inputs, recipe = inputs_of(scale, work), recipe_of(scale, "l4", backend="transformers")
    request = AnswerRequest(
        base=inputs.base,
        policy=policy,
        load_in_4bit=recipe.load_in_4bit,
        dataset=inputs.dataset,
        temperature=0.1,
        max_tokens=recipe.max_completion_tokens,
        samples=1,
        batch_size=64,
        seed=SEED,
        work=work / "answers" / "batches",
        output=work / "answers" / "output",
    )
    request.output.mkdir(parents=True, exist_ok=True)
    run_child("tasks.evaluate.answers.answer", request, work / "answers", interpreter=None, progress=silent)
    answers, asked = read_answers(request.output), len(read_prompts(inputs.dataset / TEST_FILE))
    return row_of("answers of the evaluation", f"{len(answers)} of {asked}", "all", within=len(answers) == asked)


def _merge_row(scale: Scale, work: Path, policy: Path) -> Row:
    inputs, output = inputs_of(scale, work), work / "merge" / "output"
    output.mkdir(parents=True, exist_ok=True)
    request = MergeRequest(base=inputs.base, adapter=policy / ADAPTER_FOLDER, dataset=inputs.dataset, output=output)
    # Its own check refuses too large a deviation.
    run_child("tasks.policy.merge", request, work / "merge", interpreter=None, progress=silent)
    found = read_check(output)
    differences = ", ".join(
        f"{name.replace('_', ' ')} {value:.2g}" for name, value in found if name.endswith("difference")
    )
    return row_of(
        "merged model", f"{differences}; written in {found.dtype}", "its own", found.model_dump(), within=True
    )
