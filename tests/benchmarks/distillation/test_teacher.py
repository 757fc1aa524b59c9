"""The two things that the experiment rests on: a teacher that begins as the student's twin, and TRL's loss on a CPU."""

from pathlib import Path
from typing import Any

import pytest

from tasks.policy.generate import as_messages
from tasks.stand_in.model import StandInShape, build_model, build_tokenizer

SHAPE = StandInShape(vocabulary_size=512, hidden_size=32, layers=2, heads=4, key_value_heads=2, feed_forward_size=64)
TOKENIZER = build_tokenizer(["um pedido chegou tarde"], SHAPE.vocabulary_size)


def test_a_model_of_twice_the_width_computes_the_same() -> None:
    import torch

    from benchmarks.distillation.teacher import wider

    small = build_model(SHAPE, TOKENIZER, seed=3).eval()
    wide = wider(small)
    assert wide.config.hidden_size == 2 * SHAPE.hidden_size
    assert wide.num_parameters() > 2 * small.num_parameters()
    tokens = torch.arange(60).reshape(3, 20)
    with torch.inference_mode():
        torch.testing.assert_close(wide(tokens).logits, small(tokens).logits, atol=1e-5, rtol=1e-4)


def test_a_student_is_pulled_to_its_teacher_and_stops_with_its_tokens(tmp_path: Path) -> None:
    from datasets import Dataset
    from trl import DistillationConfig

    from benchmarks.distillation.teacher import wider
    from benchmarks.distillation.trainer import CpuDistillationTrainer

    def trained(teacher: Any, budget: int) -> Any:
        arguments = DistillationConfig(
            output_dir=str(tmp_path), max_steps=40, per_device_train_batch_size=8, max_completion_length=12,
            learning_rate=1e-2, lr_scheduler_type="constant", use_cpu=True, bf16=False, gradient_checkpointing=False,
            save_strategy="no", logging_steps=1, report_to="none", disable_tqdm=True,
        )  # fmt: skip
        trainer = CpuDistillationTrainer(
            model=build_model(SHAPE, TOKENIZER, seed=3), teacher_model=teacher, args=arguments,
            train_dataset=Dataset.from_list([{"prompt": as_messages("Responda.", "um pedido")}] * 8),
            processing_class=TOKENIZER,
        )  # fmt: skip
        trainer.budget = budget
        trainer.train()
        return trainer

    sure = wider(build_model(SHAPE, TOKENIZER, seed=4))
    sure.model.norm.weight.data *= 10  # Weights this small would spread it over all tokens.
    other = trained(sure, 1_000)
    losses = [entry["loss"] for entry in other.state.log_history if "loss" in entry]
    assert losses[-1] < 0.8 * losses[0]
    # Eight completions of at most twelve tokens a step.
    assert 1_000 <= other.sampled_tokens < 1_000 + 8 * 12
    assert other.state.global_step == len(losses) < 40
    twin = trained(wider(build_model(SHAPE, TOKENIZER, seed=3)), 1)
    assert twin.state.log_history[0]["loss"] == pytest.approx(0.0, abs=1e-6)
