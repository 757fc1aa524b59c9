"""What goes into a training is checked first: the audit, the tokenizer, the prompts; and how a failure is reported."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.config.train import TrainConfig
from schemas.config.train_sections import PolicyConfig
from schemas.documents import AuditedTask, AuditRecord
from schemas.errors import InputError
from tasks.commerce.registry import joint_version, reward_versions
from tasks.train.preflight.inputs import check_prompt_budget, check_tokenizer, read_fit_tokenizer
from tests.tasks.train.small_training import RECIPE, prompt_rows, tiny_policy

AGREES = AuditedTask(n=30, rho=0.8, rho_low=0.6, verdict="passed")
RECORD = AuditRecord(
    spec="grounded",
    reward_version=joint_version(),
    reward_versions=reward_versions(),
    sheet_sha256="a",
    rollouts_sha256="b",
    raters={"r1": "rubric"},
    verdict="passed",
    reasons=(),
    thresholds={},
    tasks={"push": AGREES, "sentiment": AGREES},
)


@pytest.fixture
def tokenizer() -> Any:
    """Return a tokenizer that a test may spoil."""
    return tiny_policy()[1]


def _without_accents(tokenizer: Any) -> None:
    from tokenizers import normalizers

    tokenizer.backend_tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])


@pytest.mark.parametrize(
    ("spoil", "check", "measured"),
    [
        (lambda t: setattr(t, "eos_token", "<|im_start|>"), "end_of_turn", "'<|im_end|>', and EOS is '<|im_start|>'"),
        (
            lambda t: t.add_special_tokens({"additional_special_tokens": ["<|vision_start|>", "<s>", "<loja>"]}),
            "control_tokens",
            "prompts can hold <loja>",
        ),
        (lambda t: setattr(t, "padding_side", "right"), "padding", "padding on the right"),
        (lambda t: setattr(t, "pad_token", None), "padding", "no pad_token"),
        (_without_accents, "round_trip", "came back changed"),
    ],
    ids=["EOS", "control token", "padding side", "no padding", "accents"],
)
def test_a_spoilt_tokenizer_stops_a_training(tokenizer: Any, spoil: Any, check: str, measured: str) -> None:
    assert all(found.passed for found in check_tokenizer(tokenizer))
    spoil(tokenizer)
    assert _failed(tokenizer).keys() == {check}
    assert measured in _failed(tokenizer)[check]


def _failed(tokenizer: Any) -> dict[str, str]:
    return {check.name: check.measured for check in check_tokenizer(tokenizer) if not check.passed}


@pytest.mark.parametrize(
    ("spoil", "kind", "said"),
    [
        (lambda _: None, "of_tomorrow", "no model can be read from policy.name"),
        (lambda _: None, "clip", "is a clip, which writes no text"),
        (lambda t: setattr(t, "chat_template", None), "qwen3", "has no chat template"),
        (lambda t: setattr(t, "chat_template", "{{ messages[-1].content }}."), "qwen3", "no answer would end"),
        (lambda t: setattr(t, "eos_token", "<|im_start|>"), "qwen3", ""),
        (_without_accents, "qwen3", "round_trip: .* tokens came back changed; use a byte-level"),
    ],
)
def test_an_unusable_folder_is_refused_first(tokenizer: Any, spoil: Any, kind: str, said: str, tmp_path: Path) -> None:
    spoil(tokenizer)
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(f'{{"model_type": "{kind}"}}', encoding="utf-8")
    policy = PolicyConfig(name=str(tmp_path))
    if not said:
        assert read_fit_tokenizer(policy, None).eos_token == "<|im_end|>"
        return
    with pytest.raises(InputError, match=said) as refused:
        read_fit_tokenizer(policy, None)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("template", "fault"),
    [
        ("{% for m in messages if m.role != 'system' %}{{ m.content }}{% endfor %}A:", "system text"),
        ("{% for m in messages | reverse %}{{ m.content }}{% endfor %}A:", "system text"),
        ("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}", "does not open"),
        (
            "{% for m in messages %}{{ m.content }} {% endfor %}{% if add_generation_prompt %}A{% endif %}",
            "does not end",
        ),
    ],
)
def test_a_chat_template_that_does_not_ask_stops_a_training(tokenizer: Any, template: str, fault: str) -> None:
    tokenizer.chat_template = template
    assert fault in _failed(tokenizer)["chat_template"]


def test_prompts_over_the_budget_are_counted(tokenizer: Any) -> None:
    recipe = TrainConfig.model_validate(RECIPE)
    rows = prompt_rows()
    rows[3] = replace(rows[3], prompt=rows[3].prompt * 6)
    longest = int(check_prompt_budget(tokenizer, rows, 999, 999, recipe).measured.split()[-2])
    assert check_prompt_budget(tokenizer, rows, 999, longest, recipe).passed
    check = check_prompt_budget(tokenizer, rows, 999, longest - 1, recipe)
    assert not check.passed
    assert check.measured == f"1 of 12 prompts are over, the longest with {longest} tokens"
