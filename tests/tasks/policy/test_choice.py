"""Choice of tokens: the model's own distribution, by noise that a completion has for itself."""

from collections import Counter
from typing import Any

import pytest
import torch
from transformers import TopKLogitsWarper, TopPLogitsWarper

from tasks.policy.choice import Sampled, keys_of

DRAWS = 20_000
LOGITS = torch.tensor([2.0, 1.0, 0.0, -1.0, -30.0, float("-inf")])
LAST = torch.zeros((1, 1), dtype=torch.long)


def _shares(**settings: Any) -> torch.Tensor:
    choice = Sampled([(7,)], **{"temperature": 1.0, **settings})
    drawn = Counter(int(choice(LOGITS[None], LAST)) for _ in range(DRAWS))
    return torch.tensor([drawn[token] / DRAWS for token in range(len(LOGITS))])


@pytest.mark.parametrize(
    "settings", [{}, {"temperature": 0.5}, {"top_k": 2}, {"top_p": 0.8}, {"top_k": 3, "top_p": 0.7}]
)
def test_tokens_come_as_often_as_their_probability(settings: dict[str, Any]) -> None:
    scores = LOGITS[None] / settings.get("temperature", 1.0)
    if "top_k" in settings:
        scores = TopKLogitsWarper(settings["top_k"])(LAST, scores)
    if "top_p" in settings:
        scores = TopPLogitsWarper(settings["top_p"])(LAST, scores)
    wanted, found = scores[0].softmax(dim=-1), _shares(**settings)
    # Four standard errors of the largest.
    assert torch.allclose(found, wanted, atol=4 * 0.5 / DRAWS**0.5)
    assert (found[wanted == 0] == 0).all()


def test_noise_is_of_a_row_and_goes_with_it() -> None:
    keys = [(1, row) for row in range(6)]
    logits, last = torch.zeros((6, 50)), torch.zeros((6, 1), dtype=torch.long)
    together = Sampled(keys, temperature=1.0)
    first = together(logits, last)
    together.keep([5, 1, 2])
    second = together(logits[:3], last[:3])
    for place, row in enumerate([5, 1, 2]):
        alone = Sampled([keys[row]], temperature=1.0)
        assert [int(alone(logits[:1], last[:1])) for _ in range(2)] == [int(first[row]), int(second[place])]
    assert len(set(first.tolist())) > 1


def test_keys_differ_by_stream_prompt_and_sample_alone() -> None:
    prompts = [[1, 2], [1, 2], [12], [1, 2]]
    keys = keys_of(prompts, 5, 0)
    assert len(set(keys)) == 4
    assert keys_of([[12], [1, 2]], 5, 0) == [keys[2], keys[0]]
    assert not set(keys) & set(keys_of(prompts, 5, 1))
    assert not set(keys) & set(keys_of(prompts, 6, 0))
