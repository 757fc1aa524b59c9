"""Batches are put together again as TRL split them, and in the order that they had before it shuffled them."""

from typing import Any

import torch
from trl.trainer.utils import shuffle_sequence_dict, split_tensor_dict

from tasks.train.grpo.batches import before_shuffle, whole_batch


def test_what_trl_shuffles_and_splits_is_whole_and_in_order_again() -> None:
    batch: dict[str, Any] = {
        "ids": torch.arange(16).view(8, 2),
        "names": [f"n{place}" for place in range(8)],
        "items": torch.tensor(5),
        "images": None,
    }
    random_state = torch.get_rng_state()
    given = before_shuffle(batch)
    assert torch.equal(torch.get_rng_state(), random_state)
    found = whole_batch(split_tensor_dict(shuffle_sequence_dict(given), 4))
    assert found.keys() == batch.keys()
    assert not torch.equal(given["ids"], batch["ids"])
    assert torch.equal(found["ids"], batch["ids"])
    assert (found["names"], found["images"], found["items"].item()) == (batch["names"], None, 5)
