"""Completions that end where they are asked to."""

import torch

from benchmarks.step.turns import EndsAt

END = 2


def test_a_completion_ends_at_its_length_and_nowhere_before() -> None:
    processor, drawn = EndsAt([1, 3], END), []
    for _ in range(3):
        scores = torch.zeros(2, 5)
        scores[:, END] = 9.0
        drawn.append(processor(torch.empty(0), scores).argmax(dim=-1).tolist())
    first, second = zip(*drawn, strict=True)
    assert first[0] == END
    assert END not in second[:2]
    assert second[2] == END


def test_other_tokens_keep_their_scores_until_the_end() -> None:
    scores = torch.tensor([[0.1, 0.2, 0.3, 0.4]])
    found = EndsAt([2], END)(torch.empty(0), scores.clone())
    assert torch.equal(found[0, [0, 1, 3]], scores[0, [0, 1, 3]])
