"""A Modelfile writes prompts as training did, in Ollama's language, or is refused."""

from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.policy.generate import as_messages
from tasks.policy.load import load_tokenizer
from tasks.serve.export.modelfile import write_modelfile, written_prompt
from tasks.serve.export.original import rendered
from tasks.serve.served_model import Decoding
from tests.tasks.serve.export.models import save_model

TURNS = "{%- for m in messages -%}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{%- endfor -%}"
ASK = "{%- if add_generation_prompt -%}<|im_start|>assistant\n{%- endif -%}"
DEFAULT = (
    "{%- if messages[0].role != 'system' -%}<|im_start|>system\nSeja breve.<|im_end|>\n{%- endif -%}" + TURNS + ASK
)
ASKED = ("Responda em português.", "Chegou quebrado?\nNão sei")


def _written(model: Path, template: str | None) -> str:
    if template is not None:
        (model / "chat_template.jinja").write_text(template, encoding="utf-8")
    write_modelfile(model, model / "Modelfile", "m.gguf", Decoding(0.1, 128))
    return (model / "Modelfile").read_text(encoding="utf-8")


@pytest.mark.parametrize("template", [None, TURNS + ASK, DEFAULT])
def test_it_writes_the_prompt_that_training_wrote(template: str | None, tmp_path: Path) -> None:
    text = _written(save_model(tmp_path), template)
    (own,) = rendered(load_tokenizer(tmp_path), [as_messages(*ASKED)])
    assert written_prompt(text, *ASKED) == own
    # A template that writes a system text of its own would write it beside an empty one.
    assert ("{{ if .System }}" in text) == (template is not DEFAULT)


def test_it_sets_the_evaluated_decoding_and_ends_with_the_turn(tmp_path: Path) -> None:
    lines = _written(save_model(tmp_path), None).splitlines()
    assert lines[0] == "FROM ./m.gguf"
    assert {
        'PARAMETER stop "<|im_end|>"',
        "PARAMETER temperature 0.1",
        "PARAMETER num_predict 128",
        "PARAMETER top_k 0",
        "PARAMETER top_p 1.0",
        "PARAMETER repeat_penalty 1.0",
    } <= set(lines)


def test_a_template_that_writes_the_prompt_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="in a way that Ollama's template language cannot say; export it with"):
        _written(save_model(tmp_path), TURNS + TURNS + ASK)
