"""Command `python -m tasks.stand_in`: train the stand-in and write it with its card (`make stand-in`)."""

import argparse
import json
import platform
import shutil
import sys
import time
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
import torch
from pydantic import ValidationError
from transformers import AutoModelForCausalLM, AutoTokenizer

from schemas.disk import file_sha256
from schemas.errors import InputError
from schemas.faults import first_fault
from schemas.source import source_digest
from tasks.curate.incoming import read_known, words_hashes, write_known
from tasks.policy.published import CARD_FILE, KNOWN_FILE, STAND_IN_FOLDER
from tasks.stand_in.lessons import Recipe, lessons
from tasks.stand_in.model import build_model, build_tokenizer
from tasks.stand_in.training import train

TEXTS_OF_TOKENIZER: Final = 30_000
"""Lessons on which the tokenizer is trained: the first ones, or all."""
WEIGHTS_FILE: Final = "model.safetensors"
STEPS_BETWEEN_LINES: Final = 20


def main() -> int:
    """Train by the recipe, and write weights, tokenizer and card; the exit code is 2 for bad input."""
    given = vars(_arguments())
    output, start = given.pop("output"), given.pop("start")
    try:
        given["start_sha256"] = file_sha256(start / WEIGHTS_FILE) if start else None
        make(Recipe.model_validate({name: value for name, value in given.items() if value is not None}), output, start)
    except ValidationError as error:
        sys.stderr.write(f"{first_fault(error)}; correct the option\n")
        return 2
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def make(recipe: Recipe, output: Path, start: Path | None = None) -> None:
    """Train a stand-in and write it with its card; equal recipes give equal bytes on equal machines.

    Without `start`, another stand-in, the first weights are random.
    """
    if output.exists() and any(output.iterdir()) and not (output / CARD_FILE).exists():
        raise InputError(f"{output} is not empty and holds no stand-in; give another folder")
    draft = output.with_name(f"{output.name}.draft")
    if draft.exists():
        shutil.rmtree(draft)
    draft.mkdir(parents=True)
    started = time.monotonic()
    taught = list(lessons(recipe))
    if start is None:
        texts = (text for lesson in islice(taught, TEXTS_OF_TOKENIZER) for text in lesson[1:])
        tokenizer = build_tokenizer(texts, recipe.shape.vocabulary_size)
        model = build_model(recipe.shape, tokenizer, recipe.seed)
        learned = words_hashes([])
    else:
        tokenizer = AutoTokenizer.from_pretrained(start)
        model = AutoModelForCausalLM.from_pretrained(start, dtype=torch.float32)
        learned = read_known(start / KNOWN_FILE)
    losses = train(model, tokenizer, taught, recipe, _say)
    hours = (time.monotonic() - started) / 3600
    known = np.union1d(learned, words_hashes(lesson.prompt for lesson in taught))
    model.to(torch.bfloat16).save_pretrained(draft)
    tokenizer.save_pretrained(draft)
    write_known(known, draft / KNOWN_FILE)
    card = {
        "command": f"python -m tasks.stand_in --seed {recipe.seed} --steps {recipe.steps}"
        f" --demonstrated-steps {recipe.demonstrated_steps}" + ("" if start is None else f" --start {start.name}"),
        "recipe": recipe.model_dump(mode="json"),
        "parameters": model.num_parameters(),
        "lessons": len(taught),
        "lessons_sha256": sha256("".join(map(repr, taught)).encode()).hexdigest(),
        "code": source_digest("tasks.stand_in.__main__"),
        "last_loss": round(losses[-1], 4),
        "hours": round(hours, 2),
        "machine": f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}",
        "licence": "Apache-2.0; every text is simulated, none is of a shop or a person",
        "files": {file.name: file_sha256(file) for file in sorted(draft.iterdir())},
    }
    (draft / CARD_FILE).write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if output.exists():
        shutil.rmtree(output)
    draft.replace(output)


def _say(done: int, total: int, text: str) -> None:
    if done % STEPS_BETWEEN_LINES == 0 or done == total:
        sys.stdout.write(f"{done}/{total} {text}\n")
        sys.stdout.flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tasks.stand_in", description=__doc__)
    parser.add_argument("--seed", type=int, help="decides stores, prompts and faults")
    parser.add_argument("--steps", type=int, help="optimizer steps on right answers")
    parser.add_argument("--demonstrated-steps", type=int, help="steps on imperfect demonstrations, likewise")
    parser.add_argument("--start", type=Path, help="folder of another stand-in, to go on from its weights")
    parser.add_argument("--output", type=Path, default=STAND_IN_FOLDER, help="folder that is replaced")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
