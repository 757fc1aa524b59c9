"""Pairs of audited insights that people scored differently, used to check a judge."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Final

from pydantic import ValidationError

from schemas.documents import SheetRow
from schemas.errors import InputError
from schemas.faults import first_fault
from schemas.tables.delimited import of_cell, read_text
from tasks.evaluate.judge.question import AnswerPair

SHEET_FILE: Final = "sheet.csv"
"""Artifact file of the audit: the scored completions."""


@dataclass(frozen=True)
class ScoredPairs:
    """Pairs of answers, one of which was scored higher."""

    pairs: tuple[AnswerPair, ...]
    """The answer with the lower score first."""
    raters: str
    """The kinds of raters of those scores; empty if insights were not scored."""


def read_scored_pairs(audit: Path, most: int, seed: int) -> ScoredPairs:
    """Draw pairs of the audit's insights: two answers to one prompt with different mean scores.

    If people scored insights, only their scores count. Pairs of one prompt share answers, so as many prompts as
    possible are used before any gives a second pair.

    Args:
        audit: Folder of the audit artifact, or any with a scored sheet of its form.
        most: Most pairs to draw.
        seed: Decides the draw.

    Raises:
        InputError: The sheet cannot be read.
    """
    rows = [row for row in _read_sheet(audit / SHEET_FILE) if row.task == "insights"]
    by_people = [row for row in rows if row.rater_kind == "human"]
    pairs = _pairs(by_people or rows)
    generator = random.Random(seed)
    ranked: list[tuple[int, float, AnswerPair]] = []
    for prompt_id in sorted(pairs):
        of_prompt = generator.sample(pairs[prompt_id], len(pairs[prompt_id]))
        ranked += [(rank, generator.random(), pair) for rank, pair in enumerate(of_prompt)]
    ranked.sort(key=lambda entry: entry[:2])
    kinds = sorted({row.rater_kind for row in by_people or rows})
    return ScoredPairs(tuple(pair for _, _, pair in ranked[:most]), " and ".join(kinds))


def _read_sheet(path: Path) -> list[SheetRow]:
    source = read_text(path)
    rows = []
    try:
        delimiter, header = source.header([*SheetRow.model_fields])
        for number, cells in [row for row in source.rows(delimiter) if row[1]][1:]:
            try:
                rows.append(SheetRow.model_validate(dict(zip(header, cells, strict=False))))
            except ValidationError as error:
                raise InputError(f"sheet {path}, line {number}: {first_fault(error)}; correct it") from None
    except ValueError as error:
        raise InputError(f"sheet {path} cannot be read ({error}); audit the rewards again") from None
    return rows


def _pairs(rows: Sequence[SheetRow]) -> Mapping[str, list[AnswerPair]]:
    scores: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    prompts: dict[str, str] = {}
    for row in rows:
        prompts[row.prompt_id] = row.prompt
        scores[row.prompt_id][of_cell(row.completion)].append(row.human_score)
    pairs: dict[str, list[AnswerPair]] = {}
    for prompt_id, of_prompt in scores.items():
        means = {text: fmean(given) for text, given in of_prompt.items()}
        pairs[prompt_id] = [
            AnswerPair(prompt_id, prompts[prompt_id], *sorted((one, other), key=means.__getitem__))
            for one, other in combinations(means, 2)
            if means[one] != means[other]
        ]
    return pairs
