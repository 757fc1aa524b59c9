"""What goes into a training is checked first: the audit, the tokenizer, the prompts; and how a failure is reported."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.audit_record import AUDIT_RECORD_FILE, AuditedTask, AuditRecord
from schemas.config.policy import PolicyConfig
from schemas.config.train import TrainConfig
from schemas.config.train_sections import PreflightSection
from schemas.errors import GateRefused, InputError
from tasks.commerce.registry import joint_version, reward_versions
from tasks.train.preflight.check import Check, refuse_if_failed
from tasks.train.preflight.inputs import (
    cannot_render,
    check_control_tokens,
    check_end_of_turn,
    check_padding,
    check_prompt_budget,
    check_prompts_per_task,
    check_round_trip,
    check_template,
    choose_rows,
    read_fit_tokenizer,
)
from tests.tasks.train.small_training import RECIPE, prompt_rows

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


def audited(folder: Path, **changes: Any) -> Path:
    """Write the record of an audit that passed, but for changes, and return its folder."""
    record = RECORD.model_copy(update=changes)
    (folder / AUDIT_RECORD_FILE).write_text(record.model_dump_json(), encoding="utf-8")
    return folder


def _without_accents(tokenizer: Any) -> None:
    from tokenizers import normalizers

    tokenizer.backend_tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])


@pytest.mark.parametrize(
    ("spoil", "check", "measured"),
    [
        (
            lambda t: setattr(t, "eos_token", "<|im_start|>"),
            check_end_of_turn,
            "'<|im_end|>', and EOS is '<|im_start|>'",
        ),
        (
            lambda t: t.add_special_tokens({"additional_special_tokens": ["<|vision_start|>", "<s>", "<loja>"]}),
            check_control_tokens,
            "prompts can hold <loja>",
        ),
        (lambda t: setattr(t, "padding_side", "right"), check_padding, "padding on the right"),
        (lambda t: setattr(t, "pad_token", None), check_padding, "no pad_token"),
        (_without_accents, check_round_trip, "came back changed"),
    ],
    ids=["EOS", "control token", "padding side", "no padding", "accents"],
)
def test_a_spoilt_tokenizer_stops_a_training(tokenizer: Any, spoil: Any, check: Any, measured: str) -> None:
    assert check(tokenizer).passed
    spoil(tokenizer)
    found = check(tokenizer)
    assert not found.passed
    assert measured in found.measured


@pytest.mark.parametrize(
    ("spoil", "kind", "said"),
    [
        (lambda _: None, "of_tomorrow", "no model can be read from policy.name"),
        (lambda _: None, "clip", "is a clip, which writes no text"),
        (lambda t: setattr(t, "chat_template", None), "qwen3", "has no chat template"),
        (
            lambda t: setattr(t, "chat_template", "{{ messages[-1].content }}.\n"),
            "qwen3",
            "so that no answer would end",
        ),
        (lambda t: setattr(t, "chat_template", t.chat_template.replace("system", "user")), "qwen3", ""),
        (_without_accents, "qwen3", "round_trip: 106 characters in .* tokens came back changed; use a byte-level"),
    ],
)
def test_a_folder_that_no_training_could_use_is_refused_before_the_base_stage(
    tokenizer: Any, spoil: Any, kind: str, said: str, tmp_path: Path
) -> None:
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
    assert cannot_render(tokenizer) is None
    check = check_template(tokenizer)
    assert not check.passed
    assert fault in check.measured


def test_prompts_over_the_budget_are_counted(tokenizer: Any) -> None:
    recipe = TrainConfig.model_validate(RECIPE)
    rows = prompt_rows()
    rows[3] = replace(rows[3], prompt=rows[3].prompt * 6)
    longest = int(check_prompt_budget(tokenizer, rows, 999, 999, recipe).measured.split()[-2])
    assert check_prompt_budget(tokenizer, rows, 999, longest, recipe).passed
    check = check_prompt_budget(tokenizer, rows, 999, longest - 1, recipe)
    assert not check.passed
    assert check.measured == f"1 of 12 prompts are over, the longest with {longest} tokens"


def test_too_few_prompts_of_one_task_stop_a_training() -> None:
    rows = [*prompt_rows(), *(replace(row, prompt_id=f"{row.prompt_id}-again") for row in prompt_rows("push"))]
    check = check_prompts_per_task(rows, PreflightSection(min_prompts_per_task=7))
    assert not check.passed
    assert check.measured == "6 of sentiment, the fewest"
    assert "sentiment" in check.remedy


def test_prompts_that_are_asked_are_of_as_many_tasks_as_there_are() -> None:
    rows = [*prompt_rows("push", each=6), *prompt_rows("sentiment", each=2)]
    for seed in range(5):
        assert {row.task for row in choose_rows(rows, 2, seed)} == {"push", "sentiment"}
        assert len({row.prompt_id for row in choose_rows(rows, 6, seed)}) == 6
    assert len(choose_rows(rows, 99, 0)) == 8


def test_a_refusal_is_one_sentence_with_the_first_failures_and_the_names_of_the_others() -> None:
    checks = [Check(f"check{n}", n == 0, f"measured{n}", f"limit{n}", f"remedy{n}") for n in range(6)]
    with pytest.raises(GateRefused) as refusal:
        refuse_if_failed(checks)
    reported = str(refusal.value)
    assert reported.startswith("the preflight failed 5 of 6 checks: check1: measured1 (limit: limit1), remedy1; check2")
    assert reported.endswith("; and also check4, check5")
    assert "\n" not in reported
