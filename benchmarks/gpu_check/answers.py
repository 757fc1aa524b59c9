"""Trained policy in use: answers of the evaluation's child, the merged model, and the logits of each form of it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Final

from benchmarks.gpu_check.inputs import inputs_of, recipe_of
from benchmarks.gpu_check.logits import ARMS
from benchmarks.gpu_check.row import Row, row_of
from benchmarks.gpu_check.scale import SEED, Scale
from benchmarks.gpu_check.training import UNINTERRUPTED
from schemas.progress import silent
from schemas.tables.prompts import TEST_FILE, read_prompts
from tasks.evaluate.answers.answer import AnswerRequest
from tasks.evaluate.answers.files import read_answers
from tasks.policy.adapters import ADAPTER_FOLDER
from tasks.policy.child import run_child
from tasks.policy.merge_child import MergeRequest, read_check

MOST_APART: Final = 0.6
"""Root mean square difference of a logit between two forms of one policy, in standard deviations of the logits: NF4
of random weights makes some 0.3 at 28 layers, and another policy 1.4."""


def measure(scale: Scale, work: Path) -> Iterator[Row]:
    """Yield the checks of the adapter that the group before trained."""
    policy = work / UNINTERRUPTED / "output"
    if not (policy / ADAPTER_FOLDER).exists():
        yield Row("answers and merge", "no adapter was trained before", "", "not here")
        return
    yield _answers_row(scale, work, policy)
    yield _merge_row(scale, work, policy)
    yield from _logits_rows(scale, work, policy)


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
    os.environ.update(scale.allocator_settings())
    request.output.mkdir(parents=True, exist_ok=True)
    run_child("tasks.evaluate.answers.answer", request, work / "answers", interpreter=None, progress=silent)
    answers, asked = read_answers(request.output), len(read_prompts(inputs.dataset / TEST_FILE))
    return row_of("answers of the evaluation", f"{len(answers)} of {asked}", "all", within=len(answers) == asked)


def _merge_row(scale: Scale, work: Path, policy: Path) -> Row:
    inputs, output = inputs_of(scale, work), work / "merge" / "output"
    output.mkdir(parents=True, exist_ok=True)
    request = MergeRequest(base=inputs.base, adapter=policy / ADAPTER_FOLDER, dataset=inputs.dataset, output=output)
    # Its own check refuses too large a deviation.
    run_child("tasks.policy.merge_child", request, work / "merge", interpreter=None, progress=silent)
    found = read_check(output)
    differences = ", ".join(
        f"{name.replace('_', ' ')} {value:.2g}" for name, value in found if name.endswith("difference")
    )
    return row_of(
        "merged model", f"{differences}; written in {found.dtype}", "its own", found.model_dump(), within=True
    )


def _logits_rows(scale: Scale, work: Path, policy: Path) -> Iterator[Row]:
    import torch

    inputs, found = inputs_of(scale, work), {}
    missing = {"unsloth": find_spec("unsloth") is None or not scale.on_gpu, "nf4": find_spec("bitsandbytes") is None}
    for arm in ARMS:
        if missing.get(arm):
            continue
        values = {
            "arm": arm,
            "base": str(inputs.base),
            "adapter": str(policy / ADAPTER_FOLDER),
            "merged": str(work / "merge" / "output"),
            "dataset": str(inputs.dataset),
            "output": str(work / f"logits-{arm}.pt"),
        }
        command = [sys.executable, "-m", "benchmarks.gpu_check.logits", json.dumps(values)]
        subprocess.run(command, check=True, env={**os.environ, **scale.allocator_settings()})
        found[arm] = torch.load(values["output"], weights_only=True)
    for one, other in combinations(found, 2):
        deviation = found[other].std()
        rms = float((found[one] - found[other]).pow(2).mean().sqrt() / deviation)
        same = float((found[one].argmax(-1) == found[other].argmax(-1)).float().mean())
        yield row_of(
            f"logits, {ARMS[one]} | {ARMS[other]}",
            f"{rms:.3f} sd apart (rms); {same:.0%} of greedy tokens the same",
            f"rms {MOST_APART} sd",
            {"rms": rms, "greedy_same": same},
            within=rms <= MOST_APART,
        )
