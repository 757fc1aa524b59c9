"""The blocks of a completion: where they are, what they earn, and which tokens are theirs."""

import json
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import InputError
from tasks.train.methods.blockwise import Block, blocks_by_token, blocks_of
from tests.tasks.commerce.churn.profiles import answer_of, prompt_of, reason
from tests.tasks.commerce.extraction import test_scorer as extraction
from tests.tasks.commerce.scoring import score

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

FIELDS = extraction.FIELDS | {"main_complaint": extraction.TOLD, "churn_risk": 0.8}
THOUGHT = "A pessoa comprou uma vez e a entrega chegou com atraso, o que pesa no risco de não voltar à loja."


def _extraction(completion: str, **unknown: None) -> tuple[Block, ...]:
    reference = {"rating": 2, "fields": FIELDS | unknown, "complaint_words": extraction.TOLD}
    return blocks_of(score("extraction", completion, reference, extraction.PROMPT))


def _rewards(blocks: tuple[Block, ...]) -> dict[str, float]:
    return {block.name: block.reward for block in blocks}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("around", ["{}", "Aqui está:\n```json\n{}\n```\nAté mais!"])
def test_each_field_s_key_and_value_are_its_block(around: str, indent: int | None) -> None:
    completion = around.replace("{}", json.dumps(FIELDS, ensure_ascii=False, indent=indent))
    blocks = _extraction(completion)
    assert [completion[block.start : block.end] for block in blocks] == [
        f'"{name}": {json.dumps(value, ensure_ascii=False)}' for name, value in FIELDS.items()
    ]
    assert all(block.reward == 1 for block in blocks)


@pytest.mark.parametrize(
    ("name", "value", "reward"),
    [
        ("sentiment", "positive", 0.5),
        ("sentiment", "ruim", 0.0),
        ("sentiment_score", 3, 0.5),
        ("sentiment_score", True, 0.0),
        ("churn_risk", "0,8", 1.0),
        ("churn_risk", 0.2, 0.5),
        ("churn_risk", 1.2, 0.0),
        ("delivery_issue", False, 0.5),
        ("delivery_issue", "delivery_issue", 0.0),
        ("main_complaint", "não recebi o produto e já faz 3 semanas", 1.0),
        ("main_complaint", "produto quebrado", 0.5),
        ("main_complaint", None, 0.0),
        ("complaint_category", ["delivery"], 0.0),
    ],
)
def test_a_field_earns_nothing_for_a_wrong_type_and_half_for_a_wrong_value(
    name: str, value: object, reward: float
) -> None:
    rewards = _rewards(_extraction(json.dumps(FIELDS | {name: value})))
    assert rewards == dict.fromkeys(FIELDS, 1.0) | {name: reward}


@pytest.mark.parametrize(
    ("complaint", "reward"),
    [(extraction.TOLD, 1.0), ("Não recebi o produto", 0.8419), ("Ninguém responde", 0.5), ("atraso", 0.5), ([], 0.0)],
)
def test_a_copied_complaint_is_right_as_far_as_it_is_the_one_that_was_made(complaint: object, reward: float) -> None:
    """Four of nine words: F1 2 x 4 / (4 + 9) of .9, in the upper half of the field's reward."""
    completion = json.dumps(FIELDS | {"main_complaint": complaint})
    rollout = score("extraction", completion, extraction.REFERENCE, extraction.PROMPT)
    assert _rewards(blocks_of(rollout))["main_complaint"] == pytest.approx(reward, abs=1e-4)


def test_a_bare_portuguese_number_is_one_value() -> None:
    """JSON reads `0,8` as 0 and then looks for a key."""
    rewards = _rewards(_extraction(json.dumps(FIELDS).replace("0.8", "0,8")))
    assert rewards == dict.fromkeys(FIELDS, 1.0)


def test_what_the_reference_does_not_know_is_no_block() -> None:
    assert _rewards(_extraction(json.dumps(FIELDS), main_complaint=None)).keys() == FIELDS.keys() - {"main_complaint"}
    assert blocks_of(score("extraction", json.dumps(FIELDS), None)) == ()


def test_a_cut_off_object_keeps_the_fields_that_are_whole() -> None:
    completion = json.dumps(FIELDS)
    cut = completion[: completion.index('"seller_issue"') + 18]
    assert list(_rewards(_extraction(cut))) == list(FIELDS)[:5]


def test_a_field_that_is_there_twice_is_a_block_once() -> None:
    blocks = _extraction('{"sentiment": "negative", "sentiment": "positive", "alheio": 1, "sentiment_score": 5}')
    assert _rewards(blocks) == {"sentiment": 1.0, "sentiment_score": 0.5}


def test_tasks_without_blocks_have_none() -> None:
    assert blocks_of(score("sentiment", "SELECT 1", {"polarity": "neutral", "score": 3})) == ()
    push = score("push", "Oi! {produto} com {oferta}.", None, "Produto: tênis\nOferta: 10% de desconto")
    assert push.reward > 0.5
    assert blocks_of(push) == ()


def test_a_thought_and_an_answer_are_two_blocks_with_rewards_of_their_own() -> None:
    completion = f"<think>{THOUGHT}</think>" + '{"polarity": "positive", "score": 5}'
    rollout = score("sentiment", completion, {"polarity": "negative", "score": 1})
    thought, answer = blocks_of(rollout)
    assert completion[thought.start : thought.end] == f"<think>{THOUGHT}</think>"
    assert completion[answer.start : answer.end] == '{"polarity": "positive", "score": 5}'
    assert answer.reward == rollout.reward < 0.5 < thought.reward


def test_the_answer_begins_behind_the_last_end_of_a_thought() -> None:
    thought, answer = "primeiro</think> e depois</think>", '{"polarity": "positive", "score": 5}'
    blocks = blocks_of(score("sentiment", f"<think>{thought}{answer}", {"polarity": "positive", "score": 5}))
    assert [(block.name, block.end) for block in blocks] == [
        ("thought", len("<think>" + thought)),
        ("answer", len("<think>" + thought + answer)),
    ]


def test_a_thought_s_reward_does_not_depend_on_its_answer() -> None:
    """Otherwise the answer's baseline, which is that of its thought's outcome, would depend on the answer."""
    reference = {"polarity": "negative", "score": 1}
    answers = ['{"polarity": "negative", "score": 1}', '{"polarity": "positive", "score": 5}', "não sei"]
    rewards = {blocks_of(score("sentiment", f"{THOUGHT}</think>{answer}", reference))[0].reward for answer in answers}
    assert len(rewards) == 1


SENTENCES: Final = (
    "A pessoa comprou um liquidificador na semana passada e esperava a entrega na sexta.",
    "Ela conta que o pacote só chegou dez dias depois do prazo prometido pela loja.",
    "O produto funciona, mas a tampa veio riscada e a caixa estava amassada.",
    "Ninguém respondeu às duas mensagens que ela mandou pelo site da loja.",
    "Isso mostra que a queixa principal é a demora, e não a qualidade do aparelho.",
    "Também há uma crítica ao atendimento, que não deu nenhum retorno até hoje.",
    "A nota deve ser baixa, pois o texto não traz elogio a nada.",
    "Ela diz ainda que não volta a comprar com esse vendedor.",
    "Por outro lado, reconhece que o preço era bom e que o modelo é o que queria.",
    "Mesmo assim, o tom geral do comentário é de quem ficou irritado com a espera.",
    "Não vejo sinal de ironia, nem de que ela tenha recebido o dinheiro de volta.",
    "Portanto, a polaridade é negativa, e a nota mais provável é a menor de todas.",
)


def test_a_long_thought_earns_less_than_a_short_one_and_one_without_an_end_nothing() -> None:
    reference = {"polarity": "negative", "score": 1}
    answer = '{"polarity": "negative", "score": 1}'
    thoughts = [" ".join(SENTENCES[:count]) for count in (2, 12)]
    short, long = (blocks_of(score("sentiment", f"<think>{text}</think>{answer}", reference)) for text in thoughts)
    assert short[0].reward > long[0].reward
    unfinished = blocks_of(score("sentiment", f"<think>{thoughts[0]}{answer}", reference))
    assert [(block.name, block.reward) for block in unfinished] == [("thought", 0.0)]


@pytest.mark.parametrize("thought", ["", "atraso entrega atraso entrega atraso entrega", "the customer was not happy"])
def test_an_empty_thought_and_one_that_is_no_portuguese_earn_nothing(thought: str) -> None:
    """Being short is not enough, or thoughts would be learnt away."""
    completion = f'<think>{thought}</think>{{"polarity": "negative", "score": 1}}'
    assert blocks_of(score("sentiment", completion, {"polarity": "negative", "score": 1}))[0].reward == 0


def test_the_fields_behind_a_thought_are_blocks_and_those_in_it_are_not() -> None:
    answer = json.dumps(FIELDS)
    completion = f'<think>{THOUGHT} {{"sentiment": "positive"}}</think>\n{answer}'
    blocks = _extraction(completion)
    assert [block.name for block in blocks] == ["thought", *FIELDS]
    assert blocks[1].start == completion.index(answer) + 1


def test_churn_s_reasons_and_answer_earn_their_components() -> None:
    profile = prompt_of(silent_days=200)
    answer = answer_of(reason("Dias desde a última compra", "200", "sai"), risk=0.9)
    rollout = score("churn", answer, {"churn": False}, profile)
    rewards = _rewards(blocks_of(rollout))
    assert rewards == {
        "risk_score": rollout.components["risk"],
        "churn": 0.0,
        "reasons": rollout.components["reasons"],
    }
    assert rewards["reasons"] > 0
    assert blocks_of(score("churn", answer, {"churn": False}, profile, spec="v4.2")) == ()


@settings(deadline=None)
@given(st.text(alphabet='{}[]",:\\0é <think>/sm', max_size=300), st.booleans())
def test_the_blocks_of_any_text_are_in_order_and_apart(text: str, wrapped: bool) -> None:
    completion = f'{{"sentiment": "{text}", "sentiment_score": {text}' if wrapped else text
    blocks = _extraction(completion)
    ends = [0, *(block.end for block in blocks)]
    assert all(end <= block.start < block.end for end, block in zip(ends, blocks, strict=False))
    assert ends[-1] <= len(completion)
    assert len({block.name for block in blocks}) == len(blocks)
    assert all(0 <= block.reward <= 1 for block in blocks)


@pytest.mark.parametrize(
    "hostile",
    [
        '{"' * 16 + "a" * 3_000,
        '{"sentiment":' + '"' + '\\"' * 1_900,
        '{"sentiment"' + " " * 3_900,
        '{"churn_risk":' + "9" * 3_900,
        '{"churn_risk":' + "1." * 1_900,
        "{" * 90_000,
        "<think>" * 14_000,
        "</think>" * 12_000,
        '{"sentiment":[' + "[" * 28,
        " " * 99_000 + '{"sentiment": "negative"}',
    ],
)
def test_hostile_text_takes_no_time(hostile: str) -> None:
    reference = {"rating": 2, "fields": FIELDS}
    rollout = score("extraction", "{}", reference).model_copy(update={"completion": hostile})
    start = time.perf_counter()
    blocks_of(rollout)
    assert time.perf_counter() - start < 0.25


@pytest.fixture(scope="module")
def tokenizer() -> "PreTrainedTokenizerBase":
    from transformers import AddedToken

    from tasks.stand_in.model import build_tokenizer

    trained = build_tokenizer(['{"sentiment":"negative","churn_risk":0.8} o pedido atrasou e não é ótimo'] * 20, 340)
    trained.add_tokens([AddedToken("<think>", special=False), AddedToken("</think>", special=False)])
    return trained


def _spans(tokenizer: "PreTrainedTokenizerBase", ids: list[int], block: Block) -> str:
    """Return the text of the tokens that are the block's."""
    places = blocks_by_token(tokenizer, ids, [block])
    return str(tokenizer.decode([token for token, place in zip(ids, places, strict=True) if place == 0]))


@settings(deadline=None)
@given(text=st.text(max_size=40), data=st.data())
def test_the_tokens_of_a_block_are_those_that_touch_it(
    tokenizer: "PreTrainedTokenizerBase", text: str, data: st.DataObject
) -> None:
    """Against the plain way: decode every prefix, and look which tokens changed a character of the block."""
    ids = tokenizer.encode(text)
    decoded = tokenizer.decode(ids)
    start = data.draw(st.integers(0, len(decoded)))
    end = data.draw(st.integers(start, len(decoded)))
    if start == end:
        return
    found = blocks_by_token(tokenizer, ids, [Block("any", start, end, 1.0)])
    lengths = [len(decoded[:start].encode()), len(decoded[:end].encode())]
    sizes = [len(tokenizer.convert_ids_to_tokens([token])[0]) for token in ids]
    if sum(sizes) != len(decoded.encode()):
        return
    places = [sum(sizes[:index]) for index in range(len(ids) + 1)]
    touched = [first < lengths[1] and last > lengths[0] for first, last in pairwise(places)]
    assert [place == 0 for place in found] == touched


def test_every_byte_of_a_character_belongs_to_its_block(tokenizer: "PreTrainedTokenizerBase") -> None:
    """An emoji is four tokens here, none of which decodes to it alone."""
    ids = tokenizer.encode("a🙂b")
    assert len(ids) == 6
    assert blocks_by_token(tokenizer, ids, [Block("emoji", 1, 2, 1.0)]) == [-1, 0, 0, 0, 0, -1]


def test_a_token_of_two_blocks_belongs_to_the_first_and_special_tokens_to_none(
    tokenizer: "PreTrainedTokenizerBase",
) -> None:
    text = '{"sentiment":"negative","churn_risk":0.8}'
    ids = [*tokenizer.encode(text), tokenizer.eos_token_id, tokenizer.pad_token_id]
    first, second = text.index(',"'), text.index('"churn')
    blocks = [Block("sentiment", 1, first, 1.0), Block("churn_risk", second, len(text) - 1, 1.0)]
    places = blocks_by_token(tokenizer, ids, blocks)
    assert places[-2:] == [-1, -1]
    assert sorted(set(places)) == [-1, 0, 1]
    joint = [token for token in tokenizer.convert_ids_to_tokens(ids) if '","' in token]
    assert joint, "the vocabulary was meant to join the end of a value with the next key"
    assert places[tokenizer.convert_ids_to_tokens(ids).index(joint[0])] == 0


def test_the_tags_of_a_thought_count_with_their_text(tokenizer: "PreTrainedTokenizerBase") -> None:
    """They are added tokens, which are written as they are and not as bytes."""
    text = "<think>é ótimo</think>não é"
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids, skip_special_tokens=True) == text
    assert _spans(tokenizer, ids, Block("thought", 0, text.index("não"), 1.0)) == "<think>é ótimo</think>"
    assert _spans(tokenizer, ids, Block("answer", text.index("não"), len(text), 1.0)) == "não é"


@settings(deadline=None, max_examples=300)
@given(st.lists(st.integers(0, 309), max_size=40))
def test_tokens_that_are_no_text_are_counted_as_the_tokenizer_decodes_them(
    tokenizer: "PreTrainedTokenizerBase", ids: list[int]
) -> None:
    """Sampled bytes need not be UTF-8: with their replacement characters miscounted, the last would be missed."""
    text = tokenizer.decode(ids, skip_special_tokens=True)
    if not text:
        return
    places = blocks_by_token(tokenizer, ids, [Block("last", len(text) - 1, len(text), 1.0)])
    written = [place for token, place in zip(ids, places, strict=True) if token > 2]
    assert written[-1] == 0
    assert blocks_by_token(tokenizer, ids, [Block("beyond", len(text), len(text) + 1, 1.0)]) == [-1] * len(ids)


def test_five_hundred_tokens_are_placed_at_once(tokenizer: "PreTrainedTokenizerBase") -> None:
    ids = [token for token in tokenizer.encode("não é ótimo 🙂 " * 200) if token > 2][:512]
    blocks = [Block(str(place), place * 20, place * 20 + 15, 1.0) for place in range(10)]
    start = time.perf_counter()
    blocks_by_token(tokenizer, ids, blocks)
    assert time.perf_counter() - start < 0.1


def test_a_tokenizer_that_is_not_byte_level_is_refused() -> None:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"▁a": 0}, unk_token="▁a")))
    with pytest.raises(InputError, match=r"byte-level tokenizer, and .*train\.block_advantages=false"):
        blocks_by_token(words, [0], [Block("any", 0, 1, 1.0)])
