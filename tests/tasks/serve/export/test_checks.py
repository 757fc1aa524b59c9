"""A version's answers are its likeliest tokens, and others are compared with them token by token."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from schemas.errors import GateRefused
from schemas.progress import silent
from tasks.serve.export.original import Original, Thought, draw, load_exact, think
from tasks.serve.export.proof import TIE, _answer, difference, parting


def test_answers_do_not_depend_on_the_batch_and_are_the_likeliest_tokens(original: Original) -> None:
    import torch

    model = load_exact(original.weights)
    alone = [
        draw(model, [prompt], end=2, most=original.longest, batch_size=1, progress=silent)[0]
        for prompt in original.prompts
    ]
    assert alone == list(original.answers)
    (thought,) = think(model, original.prompts[:1], alone[:1], batch_size=4)
    for place, token in enumerate(alone[0]):
        with torch.inference_mode():
            logits = model(torch.tensor([original.prompts[0] + alone[0][:place]])).logits[0, -1]
        likely = logits.log_softmax(dim=-1)
        assert int(likely.argmax()) == token
        assert thought.log_probabilities[place] == pytest.approx(float(likely[token]), abs=1e-4)
        best = likely.topk(2).values
        assert thought.gaps[place] == pytest.approx(float(best[0] - best[1]), abs=1e-4)


@pytest.mark.parametrize(
    ("own", "found", "place"),
    [([1, 2], [1, 2], None), ([1, 2], [1, 3], 1), ([1, 2], [1], 1), ([1], [1, 2], 1), ([], [], None)],
)
def test_sequences_part_at_their_first_difference(own: Sequence[int], found: Sequence[int], place: int | None) -> None:
    assert parting(own, found) == place


def _compared(original: Original, answers: Sequence[Sequence[int]], monkeypatch: pytest.MonkeyPatch, **how: Any) -> Any:
    monkeypatch.setattr(Original, "answers_of", lambda *_: answers)
    return _answer(original, "m", load_exact(original.weights), "a test", 0, silent, **how)


@pytest.mark.parametrize(("gap", "tied"), [(TIE / 2, 1), (2 * TIE, 0)])
def test_answers_may_part_only_where_the_version_has_no_choice(
    original: Original, gap: float, tied: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [list(answer) for answer in original.answers]
    answers[0][1] += 1
    gaps = [9.0, gap, *[9.0] * (len(answers[0]) - 2)]
    near = replace(original, thoughts=[replace(original.thoughts[0], gaps=gaps), *original.thoughts[1:]])
    found = _compared(near, answers, monkeypatch, may_differ=True)
    assert (found.equal, found.tied) == (len(answers) - 1, tied)
    if not tied:
        with pytest.raises(GateRefused, match=f"answers 1 of {len(answers)} test prompts with other words"):
            _compared(near, answers, monkeypatch)


def test_an_answer_that_ends_early_is_no_tie(original: Original, monkeypatch: pytest.MonkeyPatch) -> None:
    gaps = [0.0] * len(original.answers[0])
    near = replace(original, thoughts=[replace(original.thoughts[0], gaps=gaps), *original.thoughts[1:]])
    longer = [[*original.answers[0], 5], *original.answers[1:]]
    assert _compared(near, longer, monkeypatch, may_differ=True).tied == 0


@pytest.mark.parametrize("apart", [2e-5, math.nan])
def test_log_probabilities_that_differ_or_are_no_numbers_are_refused(
    original: Original, apart: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert difference([Thought([0.0], [1.0])], [Thought([3.0], [1.0])]) == 3.0
    monkeypatch.setattr("tasks.serve.export.proof.difference", lambda *_: apart)
    with pytest.raises(GateRefused, match="nats a token from the version"):
        _compared(original, original.answers, monkeypatch, exact=True)
