"""The authors' tokenizers and templates before a training: fit, no mark in a prompt, the same text back, guided."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.config.train import TrainConfig
from schemas.config.train_sections import PolicyConfig
from schemas.errors import InputError
from tasks.commerce.registry import TASKS
from tasks.policy.control_tokens import control_tokens_of, without_control_tokens
from tasks.policy.generate import StopReason, as_answer, as_messages, generate
from tasks.policy.guidance import grammars_of
from tasks.policy.length import PromptLengths
from tasks.policy.load import load_policy, load_tokenizer
from tasks.train.preflight.inputs import check_prompt_budget, check_tokenizer, read_fit_tokenizer
from tests.contracts.tokenizers.published import (
    BLANKS,
    KINDS,
    MARKS,
    SPECIAL,
    TEMPLATES,
    WITHOUT_TURNS,
    Kind,
    published_tokenizer,
    save_policy,
    texts,
)
from tests.prompt_tables import prompt_table
from tests.tasks.train.small_training import RECIPE, prompt_rows

FIT = ("chat", "tools", "hybrid")
HOSTILE = " ".join((*MARKS, *SPECIAL, "< context >", "<con\u200btext>", "<con<context>text>", "＜think＞", "&"))
REVIEW = "  dois  blanks,\ttab\n\n        R$ 1.234,56 em 12x - nota 4,5/5 ❤️ 👍🏽 日本 ăβ"


def _fit(kind: Kind, template: str, folder: Path, **settings: Any) -> Any:
    """Return a published tokenizer as every stage after the base reads it."""
    save_policy(folder / "published", published_tokenizer(kind, template, **settings))
    read_fit_tokenizer(PolicyConfig(name=str(folder / "published")), None).save_pretrained(folder / "base")
    return load_tokenizer(folder / "base")


@pytest.mark.parametrize("template", FIT)
@pytest.mark.parametrize("kind", KINDS)
def test_a_published_tokenizer_is_fit_and_no_shopper_writes_its_tokens(
    kind: Kind, template: str, tmp_path: Path
) -> None:
    tokenizer = _fit(kind, template, tmp_path, begins=True)
    assert set(control_tokens_of(tokenizer)) == {*MARKS, *SPECIAL}
    assert {check.name: check.passed for check in check_tokenizer(tokenizer)} == dict.fromkeys(
        ("chat_template", "control_tokens", "end_of_turn", "padding", "round_trip"), True
    )
    control = set(tokenizer.convert_tokens_to_ids([*MARKS, *SPECIAL]))

    def read(text: str) -> list[int]:
        turns = [*as_messages(text, text), as_answer(text)]
        written = tokenizer.apply_chat_template(turns, tokenize=False)
        return [token for token in tokenizer.encode(written, add_special_tokens=False) if token in control]

    assert read(HOSTILE) == read("a")
    # A gateway before another engine has no template of ours.
    assert not control & set(tokenizer.encode(without_control_tokens(HOSTILE), add_special_tokens=False))


def _joining() -> Any:
    """Return a tokenizer that makes one token of the line feed before an answer and the answer's first letter."""
    from tokenizers.models import BPE

    tokenizer = published_tokenizer("byte-level")
    rules = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    tokens, merges = dict(rules["vocab"]), [tuple(merge) for merge in rules["merges"]]
    tokens["ĊC"] = tokens.pop("".join(merges.pop()))
    tokenizer.backend_tokenizer.model = BPE(vocab=tokens, merges=[("Ċ", "C"), *merges], byte_fallback=True)
    return tokenizer


def _with_template(template: str) -> Any:
    tokenizer = published_tokenizer("sentencepiece")
    tokenizer.chat_template = template
    return tokenizer


@pytest.mark.parametrize(
    ("make", "variables", "said"),
    [
        (lambda: _with_template(TEMPLATES["reasoning"]), {}, "where the answer begins; .*enable_thinking=false"),
        (lambda: _with_template(TEMPLATES["hybrid"]), {"enable_thinking": True}, "where the answer begins"),
        (lambda: _with_template(WITHOUT_TURNS), {}, "no answer would end"),
        (_joining, {}, "the start of an answer are one token"),
    ],
    ids=["thoughts", "thoughts asked for", "no turns", "joined"],
)
def test_what_cannot_be_trained_is_refused_before_the_base(
    make: Any, variables: dict[str, Any], said: str, tmp_path: Path
) -> None:
    save_policy(tmp_path, make())
    with pytest.raises(InputError, match=said):
        read_fit_tokenizer(PolicyConfig(name=str(tmp_path), chat_template_kwargs=variables), None)


@pytest.mark.parametrize("kind", KINDS)
def test_texts_come_back_as_they_were_and_turns_are_padded_on_the_left(kind: Kind, tmp_path: Path) -> None:
    tokenizer = _fit(kind, "chat", tmp_path)
    for text in (*texts(), REVIEW, *BLANKS, *(TASKS[task].system for task in TASKS)):
        ids = tokenizer.encode(text, add_special_tokens=False)
        assert tokenizer.decode(ids) == tokenizer.decode(ids, skip_special_tokens=True) == text
    # Marks are no special tokens, so that they stay in what a policy writes.
    assert tokenizer.decode(tokenizer.convert_tokens_to_ids([*MARKS]), skip_special_tokens=True) == "".join(MARKS)
    batch = tokenizer(["a", REVIEW], padding=True, add_special_tokens=False)
    assert batch["input_ids"][0][0] == tokenizer.pad_token_id != tokenizer.eos_token_id
    assert sum(batch["attention_mask"][0]) == len(tokenizer.encode("a", add_special_tokens=False))


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize("kind", KINDS[:2])
def test_curation_and_preflight_count_the_same_tokens(kind: Kind, begins: bool, tmp_path: Path) -> None:
    """Else a prompt of exactly the most tokens would pass one, and stop the other after the base was paid for."""
    tokenizer = _fit(kind, "chat", tmp_path, begins=begins)
    rows, policy = prompt_rows(), PolicyConfig(name=str(tmp_path / "published"))
    asked = [as_messages(row.system, row.prompt) for row in rows]
    # As TRL reads a conversation.
    read = tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_dict=True)["input_ids"]
    longest = max(map(len, read))
    assert PromptLengths.of(policy).tokens(prompt_table(rows)).to_list() == list(map(len, read))
    recipe = TrainConfig.model_validate(RECIPE)
    assert check_prompt_budget(tokenizer, rows, 999, longest, recipe).passed
    assert not check_prompt_budget(tokenizer, rows, 999, longest - 1, recipe).passed


@pytest.mark.parametrize("kind", KINDS)
def test_guided_answers_are_whole_and_references_may_be_written(kind: Kind, tmp_path: Path) -> None:
    tokenizer = _fit(kind, "hybrid", tmp_path)
    policy = load_policy(tmp_path / "published", None, four_bit=False)
    grammar, task = TASKS["sentiment"].grammar, TASKS["sentiment"]
    asked = [as_messages(task.system, f"Avaliação: {text}") for text in (REVIEW, HOSTILE, "Bom.")]
    settings: dict[str, Any] = {"temperature": 1.0, "max_tokens": 300, "batch_size": 3, "seed": 1}
    for answer in generate(policy, tokenizer, asked, **settings, grammars=[grammar] * len(asked)):
        assert answer.stop_reason is StopReason.END_OF_TURN
        assert json.loads(answer.text).keys() == {"polarity", "score"}
    reference = task.answer({"polarity": "negative", "score": 2})
    tokens = [*tokenizer.encode(reference, add_special_tokens=False), tokenizer.eos_token_id]
    known = grammars_of(tokenizer, len(tokenizer))
    assert known.writes(grammar, tokens)
    mark = tokenizer.convert_tokens_to_ids("<think>")
    assert not known.writes(grammar, [mark, *tokens])
