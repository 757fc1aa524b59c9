"""The authors' templates in GGUF are read without what transformers alone knows, and write what training read."""

import json
from typing import Any

import pytest
from jinja2 import Template
from jinja2.sandbox import ImmutableSandboxedEnvironment

from schemas.errors import InputError
from tasks.policy.generate import as_messages
from tasks.serve.export.gguf_file import vocabulary_of
from tests.contracts.tokenizers.published import TEMPLATES, published_tokenizer

ASKED = as_messages("Seja breve.", "Onde está meu pedido?")
CALL = {"name": "rastrear", "arguments": {"pedido": 7}}
CONVERSATIONS: tuple[tuple[list[dict[str, Any]], bool], ...] = (
    ([*ASKED], True),
    ([*ASKED, {"role": "assistant", "content": "\nChegou ontem.\n"}], False),
    ([*ASKED, {"role": "assistant", "content": "Vejo.", "tool_calls": [CALL]}, ASKED[1]], True),
    ([ASKED[1], {"role": "assistant", "content": "Ontem.", "reasoning_content": "Pensei."}], False),
)


def plainly(template: str) -> Template:
    """Return a template as any reader of Jinja has it, to whom an unknown tag is an error; blocks as llama.cpp's."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = json.dumps
    return environment.from_string(template)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_in_gguf_writes_the_same_without_transformers(template: str) -> None:
    tokenizer = published_tokenizer("sentencepiece", template)
    written = vocabulary_of(tokenizer, len(tokenizer))["chat_template"]
    assert "generation %}" in tokenizer.chat_template
    plain = plainly(written)
    for messages, asks in CONVERSATIONS:
        own = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=asks)
        assert plain.render(messages=messages, add_generation_prompt=asks, enable_thinking=True) == own


def test_tags_go_with_the_blanks_that_they_take() -> None:
    tokenizer = published_tokenizer("byte-level words")
    tokenizer.chat_template = "a \n{%- generation -%} \n {{ messages[0].content }} \n{%+ endgeneration -%}\n b"
    written = vocabulary_of(tokenizer, len(tokenizer))["chat_template"]
    assert plainly(written).render(messages=ASKED) == tokenizer.apply_chat_template(ASKED, tokenize=False)


def test_bytes_that_are_merged_over_whole_texts_are_refused_with_the_reason() -> None:
    """llama.cpp has no pre-tokenizer that splits nothing."""
    tokenizer = published_tokenizer("byte-level")
    with pytest.raises(InputError, match=r"merges whole texts, and llama\.cpp splits .*--format safetensors"):
        vocabulary_of(tokenizer, len(tokenizer))
