"""A Modelfile writes prompts as training did, in Ollama's language; where that cannot be, there is none."""

from pathlib import Path

import pytest

from tasks.policy.generate import as_messages
from tasks.policy.load import load_tokenizer
from tasks.serve.export.gguf_file import modelfile
from tasks.serve.served_model import Decoding
from tests.tasks.serve.export.models import save_model

TURNS = "{%- for m in messages -%}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{%- endfor -%}"
ASK = "{%- if add_generation_prompt -%}<|im_start|>assistant\n{%- endif -%}"
ASKED = ("Responda em português.", "Chegou quebrado?\nNão sei")
TRIMMED = TURNS.replace("m.content", "m.content | trim") + ASK
BLANKS = ("Responda.", "  dois  ")


def _written(weights: Path, template: str | None, *asked: tuple[str, str]) -> str | None:
    if template is not None:
        (weights / "chat_template.jinja").write_text(template, encoding="utf-8")
    tokenizer = load_tokenizer(weights)
    conversations = [as_messages(*each) for each in asked]
    texts = [
        str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
        for messages in conversations
    ]
    return modelfile(weights, conversations, texts, "m.gguf", Decoding(0.1, 128))


@pytest.mark.parametrize("template", [None, TURNS + ASK])
def test_modelfile_has_the_prompt_and_decoding_of_the_evaluation(template: str | None, tmp_path: Path) -> None:
    text = _written(save_model(tmp_path), template, ASKED)
    assert text is not None
    turn = "<|im_start|>system\n{{ .System }}<|im_end|>\n<|im_start|>user\n{{ .Prompt }}<|im_end|>\n"
    end = "<|im_start|>assistant\n{{ .Response }}<|im_end|>"
    assert template is not None or f'TEMPLATE """{turn}{end}' in text
    lines = text.splitlines()
    assert lines[0] == "FROM ./m.gguf"
    assert {
        'PARAMETER stop "<|im_end|>"', "PARAMETER temperature 0.1", "PARAMETER num_predict 128", "PARAMETER top_k 0",
        "PARAMETER top_p 1.0", "PARAMETER repeat_penalty 1.0",
    } <= set(lines)  # fmt: skip


def test_there_is_none_where_ollama_would_write_or_read_a_prompt_otherwise(tmp_path: Path) -> None:
    assert _written(save_model(tmp_path / "pieces", kind="sentencepiece"), None, ASKED) is None
    for template, asked in ((TURNS + TURNS + ASK, ASKED), (TRIMMED, BLANKS)):
        assert _written(save_model(tmp_path / "model"), template, asked) is None
    assert _written(save_model(tmp_path / "model"), TRIMMED, ASKED) is not None
