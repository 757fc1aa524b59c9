"""The two things that the experiment rests on: a teacher that begins as the student's twin, and TRL's loss on a CPU."""

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from trl import DistillationConfig

from benchmarks.distillation.teacher import wider
from benchmarks.distillation.trainer import CpuDistillationTrainer
from tasks.policy.generate import as_messages
from tasks.stand_in.model import StandInShape, build_model, build_tokenizer

pytestmark = pytest.mark.slow
SHAPE = StandInShape(vocabulary_size=512, hidden_size=32, layers=2, heads=4, key_value_heads=2, feed_forward_size=64)
TOKENIZER = build_tokenizer(["um pedido chegou tarde"], SHAPE.vocabulary_size)


def test_a_model_of_twice_the_width_computes_the_same() -> None:
    small = build_model(SHAPE, TOKENIZER, seed=3).eval()
    wide = wider(small)
    assert wide.config.hidden_size == 2 * SHAPE.hidden_size
    assert wide.num_parameters() > 2 * small.num_parameters()
    tokens = torch.arange(60).reshape(3, 20)
    with torch.inference_mode():
        torch.testing.assert_close(wide(tokens).logits, small(tokens).logits, atol=1e-5, rtol=1e-4)


def test_a_student_is_pulled_to_its_teacher_and_stops_with_its_tokens(tmp_path: Path) -> None:
    sure = wider(build_model(SHAPE, TOKENIZER, seed=4))
    sure.model.norm.weight.data *= 10  # Of small weights.
    asked = [{"prompt": as_messages("Responda.", f"um pedido{' tarde' * n}")} for n in range(8)]
    arguments = DistillationConfig(
        output_dir=str(tmp_path), max_steps=40, per_device_train_batch_size=8, max_completion_length=12,
        report_to="none", learning_rate=1e-2, use_cpu=True, bf16=False, gradient_checkpointing=False, logging_steps=1,
    )  # fmt: skip
    student, data = build_model(SHAPE, TOKENIZER, seed=3), Dataset.from_list(asked)
    named = {"args": arguments, "train_dataset": data, "processing_class": TOKENIZER}
    trainer = CpuDistillationTrainer(1_000, model=student, teacher_model=sure, **named)
    given = trainer._generate_and_score_completions(asked)
    found, _, tokens = trainer._compute_loss(student, given, given["num_items_in_batch"])
    assert tokens == trainer.sampled_tokens > 0
    assert found.item() == pytest.approx(_divergence(student, sure, given), rel=1e-4)
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert losses[-1] < 0.8 * losses[0]
    # Eight completions of at most twelve tokens a step.
    assert 1_000 <= trainer.sampled_tokens < 1_000 + 8 * 12


def _divergence(student: Any, teacher: Any, given: Any) -> float:
    """By padded rows and transformers' own attention."""
    ids, mask = (torch.cat([given[f"prompt_{name}"], given[f"completion_{name}"]], dim=1) for name in ("ids", "mask"))
    learned, kept = given["completion_mask"].bool(), given["completion_ids"].shape[1] + 1
    rows = [model(input_ids=ids, attention_mask=mask).logits[:, -kept:-1][learned] for model in (student, teacher)]
    of_student, of_teacher = (each.detach().log_softmax(-1) for each in rows)
    return float(torch.nn.functional.kl_div(of_teacher, of_student, log_target=True, reduction="batchmean"))
