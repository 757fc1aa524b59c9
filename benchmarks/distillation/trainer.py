"""TRL's `DistillationTrainer` on a CPU, as the trainer of an arm.

It is on-policy always: each step samples one completion of each prompt from the student, and pulls its distribution of
each next token to the teacher's by the reverse KL divergence (2306.13649; `beta=1`, its default). Two things of it are
not as it ships: its loss is a Triton kernel, of which plain torch takes the place; and our engine draws, as it does for
our GRPO. Of the vocabularies it compares the sizes alone, so give it a teacher with the student's tokenizer.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor
from trl import DistillationConfig, DistillationTrainer

from benchmarks.training.arms import Job
from benchmarks.training.trainers import named
from schemas.tables.prompts import PromptRow
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.engine import Engine
from tasks.policy.generate import as_messages
from tasks.policy.guidance import Sampled, keys_of
from tasks.policy.load import load_base, load_policy
from tasks.train.backend.packed import ANY_MASK, PackedRow, Parts, parts_of, takes_packed_rows

MAX_STEPS_RATIO: Final = 4
"""Times the recipe's steps, for a student whose answers are short."""


class CpuDistillationTrainer(DistillationTrainer):  # type: ignore[misc]
    """TRL's trainer, which draws by our engine and computes its loss in plain torch."""

    def __init__(self, budget: int, **named: Any) -> None:
        """End the training with the step that samples the last token of the budget; the others are TRL's."""
        super().__init__(**named)
        if not (takes_packed_rows(self.model) and takes_packed_rows(self.teacher_model)):
            raise ValueError("the loss is computed on packed rows, which one of both models does not take")
        self.budget, self.sampled_tokens = budget, 0

    def _generate_single_turn(self, prompt_ids: list[list[int]], *_: Any, **__: Any) -> list[list[int]]:
        """Draw a completion of each prompt; an answer depends on the seed, the step and its prompt."""
        keys = keys_of(prompt_ids, self.args.seed, self.state.global_step)
        drawn = Engine(self.model).draw(
            prompt_ids,
            Sampled(keys, temperature=self.temperature),
            most=self.max_completion_length,
            ends=self.eos_token_ids,
        )
        self.sampled_tokens += sum(map(len, drawn))
        self.control.should_training_stop = self.sampled_tokens >= self.budget
        return drawn

    def _compute_loss(self, student: Any, inputs: dict[str, Tensor], count: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the reverse KL divergence of a token, the sum of the student's entropies, and the number of tokens."""
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
        mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
        given = _packed_inputs(parts_of(ids, mask, inputs["completion_ids"].shape[1]), self._tokenizer.eos_token_id)

        def log_probabilities(model: Any) -> Tensor:
            """Return those of every token of the vocabulary at each place of the completions, (tokens, vocabulary)."""
            return torch.log_softmax(model(**given).logits[0] / self.temperature, dim=-1)

        with torch.no_grad():
            wanted = log_probabilities(self.teacher_model.eval())
        found = log_probabilities(student)
        divergence = (found.exp() * (found - wanted)).sum() / count
        with torch.no_grad():
            entropy = -(found.exp() * found).sum()
        return divergence, entropy, inputs["completion_mask"].sum()


def _packed_inputs(parts: Sequence[Parts], end: int) -> dict[str, Any]:
    """Return prompts and completions as one row, in which the system's turn of a task stands once."""
    turns = [prompt.index(end) + 1 for prompt, _ in parts]
    apart = [(prompt[:turn], prompt[turn:] + own) for (prompt, own), turn in zip(parts, turns, strict=True)]
    row = PackedRow(apart, len(parts), torch.device("cpu"))
    first = torch.tensor([len(prompt) - turn for (prompt, _), turn in zip(parts, turns, strict=True)])
    learned = (row.places >= first[row.rows]).nonzero().squeeze(1)
    return {
        "input_ids": row.ids.unsqueeze(0),
        "attention_mask": torch.ones(ANY_MASK, dtype=torch.bool),
        "position_ids": row.positions.unsqueeze(0),
        "packed_row": row,
        "logits_to_keep": learned + len(row.ids) - len(row.targets),
        "use_cache": False,
    }


def distilled(
    teacher: Job,
    tokens: int,
    job: Job,
    rows: Sequence[PromptRow],
    databases: Databases,  # noqa: ARG001 - a distilled student earns no reward
    tokenizer: Any,
    work: Path,
) -> tuple[CpuDistillationTrainer, Callable[[], int]]:
    """Return the trainer that distils the teacher's model after its training, and what counts the sampled tokens.

    Shapes and rate are those of the job's recipe; the training ends once so many tokens are sampled.
    """
    from datasets import Dataset

    recipe = job.recipe
    trainer = CpuDistillationTrainer(
        tokens,
        teacher_model=load_policy(teacher.base, None if teacher.arm == "sft" else teacher.adapter, four_bit=False),
        args=DistillationConfig(
            output_dir=str(work),
            seed=job.seed,
            max_steps=MAX_STEPS_RATIO * recipe.max_steps,
            per_device_train_batch_size=recipe.completions_per_step,
            max_completion_length=recipe.max_completion_tokens,
            temperature=recipe.temperature,
            learning_rate=recipe.learning_rate,
            lr_scheduler_type=recipe.schedule,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            save_strategy="no",
            logging_steps=1,
            report_to="none",
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_list([{"prompt": as_messages(row.system, row.prompt)} for row in rows]),
        **named(load_base(job.base, four_bit=recipe.load_in_4bit), tokenizer, recipe),
    )
    return trainer, lambda: trainer.sampled_tokens
