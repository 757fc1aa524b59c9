"""A published model: the chat template that it gets is the one that every later stage renders, and what fails says why.

The hub is a small one in memory, below huggingface_hub: its own requests, and its own reading of the answers.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from schemas.config.train_sections import PolicyConfig
from schemas.errors import InputError
from tasks.policy.generate import as_messages
from tasks.policy.load import load_tokenizer
from tasks.policy.published import end_turns_with_eos, given_template, read_tokenizer
from tasks.stand_in.model import build_tokenizer

THINKS = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n"
    "{% if enable_thinking is defined and enable_thinking is false %}\n</think>\n\n{% endif %}{% endif %}"
)
"""A template of the form of Qwen3's, which opens a thought unless it is set otherwise."""
MESSAGES = as_messages("Seja breve.", "Onde está meu pedido?")


def _save(folder: Path, *, template: str | None, special: tuple[str, ...] = ()) -> Path:
    """Write the tokenizer of a Base: what ends a document is its EOS token."""
    tokenizer = build_tokenizer(["Onde está meu pedido?"], 300)
    tokenizer.eos_token, tokenizer.pad_token = "<|endoftext|>", None
    tokenizer.add_special_tokens({"additional_special_tokens": list(special)})
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    return folder


def _prepared(policy: PolicyConfig, output: Path) -> Any:
    """Return the tokenizer as every stage after the base reads it."""
    tokenizer = read_tokenizer(policy, given_template(policy))
    end_turns_with_eos(tokenizer, policy)
    tokenizer.save_pretrained(output)
    return load_tokenizer(output)


def _opening(tokenizer: Any) -> str:
    return str(tokenizer.apply_chat_template(MESSAGES, tokenize=False, add_generation_prompt=True))


def test_a_base_gets_chatml_and_ends_its_turns_with_it(tmp_path: Path) -> None:
    folder = _save(tmp_path / "base", template=None)
    tokenizer = _prepared(PolicyConfig(name=str(folder), chat_template="chatml"), tmp_path / "out")
    assert _opening(tokenizer) == (
        "<|im_start|>system\nSeja breve.<|im_end|>\n<|im_start|>user\nOnde está meu pedido?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert tokenizer.eos_token == "<|im_end|>"
    assert tokenizer.pad_token == "<|endoftext|>"


def test_a_template_that_thinks_is_refused_and_may_be_set_not_to(tmp_path: Path) -> None:
    folder = _save(tmp_path / "base", template=THINKS)
    with pytest.raises(InputError, match=r"opens a thought .*enable_thinking=false .*policy\.chat_template='chatml'"):
        read_tokenizer(PolicyConfig(name=str(folder)))
    quiet = PolicyConfig(name=str(folder), chat_template_kwargs={"enable_thinking": False})
    assert _opening(_prepared(quiet, tmp_path / "out")).endswith("assistant\n<think>\n</think>\n\n")


@pytest.mark.parametrize(
    ("written", "variables", "complaint"),
    [
        (None, {}, r"policy\.chat_template .*own\.jinja does not exist; give a Jinja file, or 'chatml'"),
        (b"\xff\xfe\x00", {}, r"own\.jinja has a NUL byte, as UTF-16 does; save it as UTF-8"),
        (b"{% for", {}, r"cannot render a system text and a prompt \(TemplateSyntaxError\)"),
        (b"{{ messages }}", {"enable_thinkin": False}, r"chat_template_kwargs\.enable_thinkin is no variable of"),
    ],
)
def test_a_template_that_is_none_is_refused_in_one_line(
    written: bytes | None, variables: dict[str, bool], complaint: str, tmp_path: Path
) -> None:
    file = tmp_path / "own.jinja"
    if written is not None:
        file.write_bytes(written)
    folder = _save(tmp_path / "base", template=None)
    policy = PolicyConfig(name=str(folder), chat_template=file, chat_template_kwargs=dict(variables))
    with pytest.raises(InputError, match=complaint) as refused:
        read_tokenizer(policy, given_template(policy))
    assert "\n" not in str(refused.value)


def test_a_tokenizers_own_control_tokens_are_plain_in_prompts_without_a_list(tmp_path: Path) -> None:
    own = ("<loja>", "<<loja>>", "[DADOS]", "@fim@")
    folder = _save(tmp_path / "base", template=None, special=own)
    tokenizer = _prepared(PolicyConfig(name=str(folder), chat_template="chatml"), tmp_path / "out")
    rendered = [
        tokenizer.apply_chat_template(as_messages(text, text), tokenize=False)
        for text in ("a", "<b>a</b> <loja> <<loja>> [DADOS] @fim@")
    ]
    read = [[token for token in tokenizer.encode(text) if token in tokenizer.added_tokens_decoder] for text in rendered]
    assert read[0] == read[1]
    assert "<b>a</b> (loja) ((loja)) (DADOS) (fim)" in rendered[1]
    again = _prepared(PolicyConfig(name=str(tmp_path / "out")), tmp_path / "again")
    assert again.chat_template == tokenizer.chat_template


Hub = Callable[[Callable[[httpx.Request], httpx.Response]], None]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """Answer huggingface_hub's requests by a function, with nothing downloaded before."""
    import huggingface_hub
    from huggingface_hub import constants
    from huggingface_hub.utils._http import default_client_factory

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("transformers.utils.hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))

    def answer(handler: Callable[[httpx.Request], httpx.Response]) -> None:
        transport = httpx.MockTransport(handler)
        huggingface_hub.set_client_factory(lambda: httpx.Client(transport=transport, follow_redirects=False))

    yield answer
    huggingface_hub.set_client_factory(default_client_factory)


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (401, "RepoNotFound", "policy.name 'nobody/none' is not on the model hub, or is private; correct it"),
        (403, "GatedRepo", "policy.name 'nobody/none' is gated on the model hub; accept its terms there"),
        (404, "RevisionNotFound", "policy.revision 'v9' is no commit, tag or branch of policy.name 'nobody/none'"),
    ],
)
def test_a_name_that_the_hub_refuses_is_reported(status: int, code: str, said: str, hub: Hub) -> None:
    hub(lambda request: httpx.Response(status, headers={"X-Error-Code": code}, request=request))
    with pytest.raises(InputError) as refused:
        read_tokenizer(PolicyConfig(name="nobody/none", revision="v9"))
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)
