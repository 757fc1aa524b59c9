"""Answers are compared token by token, and what is not a number passes no check."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from schemas.errors import GateRefused
from schemas.progress import silent
from tasks.serve.export.checks import (
    TIE,
    compare_answers,
    difference,
    parting,
    require_same_answers,
    require_within_noise,
)
from tasks.serve.export.greedy import Thought, draw, think
from tasks.serve.export.original import load_exact
from tasks.serve.export.proof import Version


def test_answers_do_not_depend_on_the_batch_and_are_the_likeliest_tokens(version: Version) -> None:
    import torch

    original, model = version.original, load_exact(version.weights)
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


@pytest.mark.parametrize(("gap", "tied"), [(TIE / 2, 1), (2 * TIE, 0)])
def test_answers_may_part_only_where_the_version_has_no_choice(version: Version, gap: float, tied: int) -> None:
    answers = [list(answer) for answer in version.original.answers]
    answers[0][1] += 1
    gaps = [9.0, gap, *[9.0] * (len(answers[0]) - 2)]
    thoughts = [replace(version.original.thoughts[0], gaps=gaps), *version.original.thoughts[1:]]
    found = compare_answers(replace(version.original, thoughts=thoughts), answers)
    assert (found.equal, found.tied) == (len(answers) - 1, tied)
    if not tied:
        with pytest.raises(GateRefused, match=f"answers 1 of {len(answers)} test prompts with other words"):
            require_same_answers("m", found, len(answers))


def test_an_answer_that_ends_early_is_no_tie(version: Version) -> None:
    answers = [list(answer) for answer in version.original.answers]
    gaps = [0.0] * len(answers[0])
    thoughts = [replace(version.original.thoughts[0], gaps=gaps), *version.original.thoughts[1:]]
    longer = [[*answers[0], 5], *answers[1:]]
    assert compare_answers(replace(version.original, thoughts=thoughts), longer).tied == 0


@pytest.mark.parametrize(("apart", "noise", "passes"), [(1e-6, 0.0, True), (1.05e-3, 1e-3, True), (2e-3, 1e-3, False)])
def test_an_export_may_be_as_far_as_its_format_rounds(apart: float, noise: float, *, passes: bool) -> None:
    own, found = [Thought([0.0], [1.0])], [Thought([apart], [1.0])]
    assert difference(own, found) == pytest.approx(apart)
    if passes:
        require_within_noise("m", apart, noise)
        return
    for value in (apart, float("nan")):
        with pytest.raises(GateRefused, match="nats a token from the version"):
            require_within_noise("m", value, noise)
