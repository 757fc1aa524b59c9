"""Guided decoding: every answer has its task's form, and the policy's own distribution is only renormalised."""

from collections import Counter
from typing import Any

import pytest
import torch

from schemas.errors import InputError
from schemas.tasks import TaskName
from tasks.commerce.extraction.scorer import READABLE
from tasks.commerce.registry import TASKS, grammar_of
from tasks.commerce.sentiment.scorer import CHECKS
from tasks.commerce.text.json_fields import is_boolean, is_share
from tasks.commerce.text.parser import parse_object
from tasks.policy.generate import Completion, StopReason, as_messages, generate
from tasks.policy.guidance import Grammars, GuidedLogits, Sampled
from tasks.stand_in.model import StandInShape, build_model, build_tokenizer

DRAWS = 20_000
LOGITS = torch.tensor([2.0, 1.0, 0.0, -1.0, -30.0, float("-inf")])
LAST = torch.zeros((1, 1), dtype=torch.long)

SMALL = StandInShape(vocabulary_size=512, hidden_size=32, layers=1, heads=2, key_value_heads=1, feed_forward_size=32)
OF_FIELDS = {
    "extraction": READABLE,
    "sentiment": CHECKS,
    "churn": {"risk_score": is_share, "churn": is_boolean, "reasons": lambda value: isinstance(value, list)},
}
PROMPTS: dict[TaskName, str] = {
    "extraction": "Extraia.\nAvaliação: Não recebi o produto. Ninguém responde!",
    "sentiment": "Classifique.\nAvaliação: Bom.",
    "churn": "Volta?\nPedidos: 2\nDias desde a última compra: 200",
    "push": "Crie.\nProduto: malas\nOferta: 10% de desconto\nPúblico: todos",
}
AB = "start: A\nA: /(ab|b)+c/"


@pytest.fixture(scope="module")
def policy() -> tuple[Any, Any]:
    """A model of random weights, which writes any bytes, and its tokenizer."""
    tokenizer = build_tokenizer([task.system for task in TASKS.values()], SMALL.vocabulary_size)
    return build_model(SMALL, tokenizer, 3), tokenizer


def answers(policy: tuple[Any, Any], grammars: list[str], max_tokens: int) -> list[Completion]:
    conversations = [as_messages("Responda.", "pedido " * (number % 3)) for number in range(len(grammars))]
    settings: dict[str, Any] = {"temperature": 1.0, "max_tokens": max_tokens, "batch_size": 40, "seed": 1}
    return generate(*policy, conversations, **settings, grammars=grammars)


@pytest.mark.parametrize("task", OF_FIELDS)
def test_a_random_model_writes_well_formed_objects_alone(policy: tuple[Any, Any], task: TaskName) -> None:
    for completion in answers(policy, [grammar_of(task, PROMPTS[task], "all")] * 40, 700):
        assert completion.stop_reason is StopReason.END_OF_TURN
        parsed = parse_object(completion.text)
        fields = parsed.value or {}
        assert parsed.cleanliness == 1.0
        assert list(fields) == [name for name in fields if OF_FIELDS[task][name](fields[name])]
        assert fields.keys() == OF_FIELDS[task].keys()


def test_allowed_tokens_keep_their_ratios_and_the_others_have_none(policy: tuple[Any, Any]) -> None:
    _, tokenizer = policy
    grammars = Grammars(tokenizer, len(tokenizer))
    process = GuidedLogits(grammars, [AB, ""])
    prompt, scores = torch.zeros((2, 4), dtype=torch.long), torch.randn((2, len(tokenizer)))
    free, guided = scores.softmax(-1), process(prompt, scores).softmax(-1)
    texts = [tokenizer.decode([token]) for token in range(len(tokenizer))]
    allowed = [token for token, text in enumerate(texts) if text in {"a", "b", "ab", "bb", "abc", "bc", "bab"}]
    assert guided[0].nonzero().flatten().tolist() == allowed
    assert torch.allclose(guided[0, allowed], free[0, allowed] / free[0, allowed].sum())
    assert torch.equal(guided[1], free[1])


def test_the_masks_of_an_answer_are_those_that_it_was_sampled_with(policy: tuple[Any, Any]) -> None:
    _, tokenizer = policy
    grammars = Grammars(tokenizer, len(tokenizer))
    a, b, c = (int(tokenizer.encode(letter)[0]) for letter in "abc")
    end = int(tokenizer.eos_token_id)
    masks = grammars.of_answers([(AB, [a, b, c, end, tokenizer.pad_token_id])])[0]
    assert masks[:4].gather(1, torch.tensor([[a], [b], [c], [end]])).all()
    assert masks[1, [b, a]].tolist() == [True, False]
    assert masks[3].nonzero().flatten().tolist() == [end]
    assert masks[4].all()
    assert grammars.of_answers([("", [a, b])]).all()


@pytest.mark.parametrize(
    ("grammar", "message"),
    [
        ("start: A\nA: /a/ & /b/", "no answer satisfies the grammar"),
        ('start: %json {"type": "array", "uniqueItems": true}', "the grammar of the answers cannot be read"),
        ("start: missing", "the grammar of the answers cannot be read"),
    ],
)
def test_a_grammar_of_nothing_is_refused_before_generation(policy: tuple[Any, Any], grammar: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        answers(policy, ["", grammar], 5)
    assert "\n" not in str(refused.value)


def test_a_tokenizer_without_some_bytes_is_refused_but_for_those_of_no_character() -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    def grammars(lacking: str) -> Grammars:
        signs = ["<end>", *sorted({*pre_tokenizers.ByteLevel.alphabet()} - {*lacking})]
        tokenizer = Tokenizer(models.BPE(vocab={sign: number for number, sign in enumerate(signs)}, merges=[]))
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(False), decoders.ByteLevel()
        return Grammars(PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>"), len(signs))

    # F1 and F2 in the alphabet of bytes, which the published Llama's tokenizer has no token for.
    grammars("ñò")
    with pytest.raises(InputError, match="a token for every byte"):
        grammars("z")


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_tokens_come_as_often_as_their_probability(temperature: float) -> None:
    choice = Sampled([(7,)], temperature=temperature)
    drawn = Counter(int(choice(LOGITS[None], LAST)) for _ in range(DRAWS))
    found = torch.tensor([drawn[token] / DRAWS for token in range(len(LOGITS))])
    wanted = (LOGITS / temperature).softmax(dim=-1)
    # Four standard errors of the largest.
    assert torch.allclose(found, wanted, atol=4 * 0.5 / DRAWS**0.5)
    assert (found[wanted == 0] == 0).all()
