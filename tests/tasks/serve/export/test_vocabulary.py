"""A tokenizer is described in GGUF's terms, or refused with the format that holds it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from gguf import TokenType
from tokenizers import normalizers, pre_tokenizers

from schemas.errors import InputError
from tasks.serve.export.gguf_file import SPLITS, vocabulary_of
from tests.tasks.serve.export.models import small_tokenizer

ROWS = 520


def _split(*expressions: str) -> Any:
    from tokenizers import Regex

    splits = [pre_tokenizers.Split(Regex(expression), "isolated") for expression in expressions]
    return pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


NAMED: list[tuple[Any, str]] = [
    *((_split(*expressions), name) for name, expressions in SPLITS.items()),
    (pre_tokenizers.Sequence([pre_tokenizers.ByteLevel(add_prefix_space=False)]), "gpt-2"),
    (
        pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        ),
        "smollm",
    ),
]


def test_a_byte_level_tokenizer_has_the_name_of_its_splits() -> None:
    tokenizer: Any = small_tokenizer(pieces=False)
    for splits, name in NAMED:
        tokenizer.backend_tokenizer.pre_tokenizer = splits
        found = vocabulary_of(tokenizer, ROWS)
        assert (found["tokenizer_model"], found["tokenizer_pre"]) == ("gpt2", name)


def test_sentencepieces_tokens_have_their_types_and_merge_by_score() -> None:
    tokenizer = small_tokenizer(pieces=True)
    found = vocabulary_of(tokenizer, ROWS)
    kinds = dict(zip(found["token_list"], found["token_types"], strict=True))
    assert (kinds["<|unk|>"], kinds["<|im_end|>"], kinds["<0x41>"]) == (
        TokenType.UNKNOWN,
        TokenType.CONTROL,
        TokenType.BYTE,
    )
    assert (kinds["<think>"], kinds["a"], kinds["[PAD519]"]) == (
        TokenType.USER_DEFINED,
        TokenType.NORMAL,
        TokenType.UNUSED,
    )
    assert not found["add_space_prefix"]
    # SentencePiece merges the pair whose token scores highest, which must be the first of the merges.
    merged = ["".join(pair) for pair in json.loads(tokenizer.backend_tokenizer.to_str())["model"]["merges"]]
    scores = dict(zip(found["token_list"], found["token_scores"], strict=True))
    assert [scores[token] for token in merged] == sorted((scores[token] for token in merged), reverse=True)


def _lower(tokenizer: Any) -> None:
    tokenizer.backend_tokenizer.normalizer = normalizers.Lowercase()


@pytest.mark.parametrize(
    ("change", "rows", "said"),
    [
        (_lower, ROWS, r"rules that GGUF has no name for \(Lowercase, Digits, ByteLevel\); export it with --format"),
        (lambda _: None, 100, r"the tokenizer has \d+ tokens, and the model 100"),
    ],
)
def test_a_tokenizer_that_gguf_cannot_describe_is_refused(change: Callable[[Any], None], rows: int, said: str) -> None:
    tokenizer: Any = small_tokenizer(pieces=False)
    change(tokenizer)
    with pytest.raises(InputError, match=said):
        vocabulary_of(tokenizer, rows)
