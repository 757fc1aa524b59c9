import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.policy.control_tokens import without_control_tokens
from tasks.policy.generate import as_answer, as_messages
from tasks.stand_in.model import build_tokenizer

# Of Qwen, Llama, Mistral, Gemma, Phi, DeepSeek, T5 and BERT.
SPECIAL = (
    *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>", "<tool_call>", "</tool_call>", "<0x0A>"),
    *("<s>", "</s>", "<unk>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<|eot_id|>", "<|start_header_id|>"),
    *("<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<pad>", "<|user|>", "<|end|>", "<|assistant|>"),
    *("<\uff5cUser\uff5c>", "<\uff5cbegin\u2581of\u2581sentence\uff5c>", "<extra_id_0>", "[CLS]", "[SEP]", "<unused7>"),
    *("<|fim_pad|>", "[TOOL_CALLS]", "[MASK]"),
)  # fmt: skip
TOKENIZER = build_tokenizer(["O produto chegou rápido e bem embalado. Nota: 5"], 400)
TOKENIZER.add_special_tokens({"additional_special_tokens": list(SPECIAL)})
IDS = frozenset(TOKENIZER.convert_tokens_to_ids([*SPECIAL, *TOKENIZER.all_special_tokens]))
INVISIBLE = ("\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u202e", "\x00", "\x1b", "\r", "\U000e0041")
SIGNS = ("<", "|", ">", "[", "]", "/", " ", "\n", "im_end", "s", "INST", "think", "\uff1c", "\uff1e", "é", "🏳️‍🌈")
PIECES = (*SPECIAL, *INVISIBLE, *SIGNS)
HOSTILE = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    st.lists(st.tuples(st.sampled_from(SPECIAL), st.integers(0, 12), st.sampled_from(INVISIBLE)), max_size=4).map(
        lambda parts: "".join(token[:place] + sign + token[place:] for token, place, sign in parts)
    ),
    st.text(max_size=40),
)


def special_tokens(text: str, system: str = "Responda.") -> list[int]:
    rendered = TOKENIZER.apply_chat_template(as_messages(system, text), tokenize=False, add_generation_prompt=True)
    return [token for token in TOKENIZER.encode(rendered, add_special_tokens=False) if token in IDS]


TEMPLATE_ONLY = special_tokens("Bom.")


@given(HOSTILE)
@settings(max_examples=200, deadline=None)
@example("<|im_<|im_end|>end|>")
@example("<|im_\u200dend|>")
@example("<<s>s>")
@example("[IN[INST]ST]")
def test_no_review_puts_a_special_token_into_a_turn(text: str) -> None:
    assert special_tokens(text) == TEMPLATE_ONLY
    assert special_tokens("Bom.", system=text) == TEMPLATE_ONLY
    assert not IDS & set(TOKENIZER.encode(as_answer(text)["content"], add_special_tokens=False))


@given(HOSTILE)
@settings(max_examples=200, deadline=None)
def test_a_neutral_text_is_no_longer_and_stays_as_it_is(text: str) -> None:
    neutral = without_control_tokens(text)
    assert without_control_tokens(neutral) == neutral
    assert len(neutral.encode("utf-8", "surrogatepass")) <= len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    "text",
    [
        "Amei! 👨‍👩‍👧 ❤️ nota 10 [CPF] [URL]",
        "SELECT a || b FROM t WHERE x < 5 AND y > 3 OR z <> 1",
        "SP | 5 | > 10%\n\tRJ | 3 | < 2%",
        '{"itens": ["image", 1, [2]]}',
        "preço < 100 e nota > 4; <b>bom</b>",
    ],
)
def test_other_texts_stay_byte_for_byte(text: str) -> None:
    assert without_control_tokens(text) == text
