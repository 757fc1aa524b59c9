"""The engine: a policy's own probabilities, whatever else is in the batch, and rows that leave it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from tasks.policy.engine import Engine
from tasks.policy.guidance import Sampled, keys_of
from tasks.policy.load import load_base
from tasks.policy.unpacked import unknown_to_engine

VOCABULARY = 300
LENGTHS = (9, 4, 9, 1, 17)
ENDS = range(8)
"""So many ends that completions are of many lengths."""


def _shape(family: str) -> Any:
    from transformers import AutoConfig

    heads = {"num_attention_heads": 4, "num_key_value_heads": 4}
    heads |= {"num_key_value_heads": 2, "head_dim": 16} if family == "qwen3" else {}
    tokens = {"pad_token_id": 0, "eos_token_id": 2, "bos_token_id": None}
    size = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    return AutoConfig.for_model(family, vocab_size=VOCABULARY, tie_word_embeddings=True, **size, **heads, **tokens)


@pytest.fixture(scope="module", params=["llama", "qwen2", "qwen3"])
def policy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A base in NF4 with an adapter that does something, as training has it."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    folder: Path = tmp_path_factory.mktemp(request.param)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = AutoModelForCausalLM.from_config(_shape(request.param))
        for weight in model.parameters():
            # Larger than at the start of a training, so that tokens depend on their prompts.
            weight.data.mul_(3)
        model.save_pretrained(folder)
        lora = LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", init_lora_weights=False)
        return get_peft_model(load_base(folder, four_bit=True), lora).eval()


@pytest.fixture(scope="module")
def prompts() -> list[list[int]]:
    generator = torch.Generator().manual_seed(1)
    each = [torch.randint(8, VOCABULARY, (length,), generator=generator).tolist() for length in LENGTHS]
    return [each[row % len(each)] for row in range(20)]


class Recorded(Sampled):
    """A choice that keeps the logits that it chose by."""

    def __init__(self, keys: Sequence[Sequence[int]]) -> None:
        super().__init__(keys, temperature=1.0)
        self.rows = list(range(len(keys)))
        self.seen: dict[int, list[torch.Tensor]] = {row: [] for row in self.rows}

    def __call__(self, logits: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
        for row, of_row in zip(self.rows, logits, strict=True):
            self.seen[row].append(of_row.clone())
        return super().__call__(logits, last)

    def keep(self, places: Sequence[int]) -> None:
        self.rows = [self.rows[place] for place in places]
        super().keep(places)


def test_log_probabilities_are_those_of_the_model(policy: Any, prompts: list[list[int]]) -> None:
    """Rows of other lengths, rows that left, and prompts that left must not show."""
    assert unknown_to_engine(policy) is None
    choice = Recorded(keys_of(prompts, 5))
    drawn = Engine(policy).draw(prompts, choice, most=24, ends=ENDS)
    assert len(set(map(len, drawn))) > 5
    for row, (prompt, tokens) in enumerate(zip(prompts, drawn, strict=True)):
        with torch.no_grad():
            logits = policy(input_ids=torch.tensor([prompt + tokens])).logits[0, len(prompt) - 1 : -1]
        found = torch.stack(choice.seen[row]).log_softmax(dim=-1)
        assert torch.allclose(found, logits.log_softmax(dim=-1), atol=1e-4)


def test_a_completion_is_the_same_alone_and_among_others(policy: Any, prompts: list[list[int]]) -> None:
    engine = Engine(policy)
    keys = keys_of(prompts, 5)
    together = engine.draw(prompts, Sampled(keys, temperature=1.0), most=24, ends=ENDS)
    for size in (1, 8):
        parts = [
            engine.draw(
                prompts[start : start + size], Sampled(keys[start : start + size], temperature=1.0), most=24, ends=ENDS
            )
            for start in range(0, len(prompts), size)
        ]
        assert [tokens for part in parts for tokens in part] == together
    back = engine.draw(prompts[::-1], Sampled(keys[::-1], temperature=1.0), most=24, ends=ENDS)
    assert back[::-1] == together
    assert len({tuple(tokens) for tokens in together}) == len(together)


def test_a_first_turn_is_computed_once_and_changes_no_completion(policy: Any, prompts: list[list[int]]) -> None:
    end = ENDS[2]
    turns = [[20, 21, 22, end], [20, 21, 23, 24, 25, end]]
    begun = [turns[number % 3] + prompt if number % 3 < 2 else prompt for number, prompt in enumerate(prompts[:5] * 3)]
    engine, keys = Engine(policy), keys_of(begun, 5)
    computed: list[int] = []
    layer = engine.model.model.layers[0]
    hook = layer.register_forward_hook(lambda _module, given, _output: computed.append(given[0].shape[1]))
    choice = Recorded(keys)
    together = engine.draw(begun, choice, most=9, ends=ENDS)
    hook.remove()
    distinct = set(map(tuple, begun))
    assert sum(computed[: len(distinct) + len(turns)]) == sum(map(len, turns)) + sum(
        len(prompt) - next((len(turn) for turn in turns if list(prompt[: len(turn)]) == turn), 0) for prompt in distinct
    )
    # What follows is computed without the layer's own calls.
    assert len(computed) == len(distinct) + len(turns)
    for row, (prompt, key, tokens) in enumerate(zip(begun, keys, together, strict=True)):
        assert engine.draw([prompt], Sampled([key], temperature=1.0), most=9, ends=ENDS) == [tokens]
        with torch.no_grad():
            logits = policy(input_ids=torch.tensor([prompt + tokens])).logits[0, len(prompt) - 1 : -1]
        found = torch.stack(choice.seen[row]).log_softmax(dim=-1)
        assert torch.allclose(found, logits.log_softmax(dim=-1), atol=1e-4)
