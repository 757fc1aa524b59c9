"""DPO on a LoRA adapter, the alternative to GRPO; a child process of the train stage.

The base policy answers training prompts, the rewards rank the completions of each prompt, and the adapter is trained on
best against worst (2305.18290). All else is as in GRPO.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from schemas.config.train import TrainConfig
from schemas.errors import GateRefused
from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName
from tasks.commerce.registry import score_beside
from tasks.policy.child import as_child
from tasks.policy.generate import StopReason, as_answer, as_messages, generate
from tasks.train.grpo.recipe import dpo_arguments, pairs_per_pass
from tasks.train.prompt_source import PromptSource
from tasks.train.resume.state_files import PREFERENCES, read_state
from tasks.train.stage import StartedTraining, TrainingInputs, train

PAIRS_FILE: Final = "pairs.json"


class RewardedCompletion(NamedTuple):
    """Completion of a prompt with its reward, in [0, 1], and whether the policy ended it before the token limit."""

    text: str
    reward: float
    ended: bool


@dataclass(frozen=True)
class PreferencePair:
    """Two completions of one prompt, the first preferred by the rewards."""

    prompt_id: str
    task: TaskName
    system: str
    prompt: str
    chosen: str
    rejected: str
    gap: float
    """Difference of their rewards, in [0, 1]."""


def pairs(
    rows: Sequence[PromptRow], answers: Sequence[Sequence[RewardedCompletion]], min_gap: float
) -> list[PreferencePair]:
    """Return a pair for each prompt whose best and worst completions are far enough apart.

    A truncated completion is never preferred: it would teach to stop there. Of equals the first is taken.
    """
    found = []
    for row, group in zip(rows, answers, strict=True):
        ended = [answer for answer in group if answer.ended]
        if not ended:
            continue
        best = max(ended, key=lambda answer: answer.reward)
        worst = min(group, key=lambda answer: answer.reward)
        # Rewards are sums of floats: 0.9 - 0.8 must count as a gap of 0.1.
        gap = round(best.reward - worst.reward, 9)
        if gap >= min_gap:
            found.append(PreferencePair(row.prompt_id, row.task, row.system, row.prompt, best.text, worst.text, gap))
    return found


class Preferences:
    """Pairs of one training; saved with its checkpoints.

    A resumed run reads them back. Sampled again they would differ in their bits on another GPU, and a Spot machine
    rarely comes back as the same one.
    """

    def __init__(self) -> None:
        self.pairs: list[PreferencePair] = []

    def by_task(self) -> dict[str, int]:
        """Return the number of pairs of each task, tasks by name."""
        return dict(sorted(Counter(pair.task for pair in self.pairs).items()))

    def state_dict(self) -> dict[str, Any]:
        """Return the pairs."""
        return {"pairs": [asdict(pair) for pair in self.pairs]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the pairs of a state."""
        self.pairs = [PreferencePair(**values) for values in state["pairs"]]

    def write(self, policy: Path) -> None:
        """Write the pairs into a policy's folder."""
        content = json.dumps(self.state_dict()["pairs"], ensure_ascii=False, indent=1)
        (policy / PAIRS_FILE).write_text(content, encoding="utf-8")


def start(inputs: TrainingInputs) -> StartedTraining:
    """Build the trainer, with pairs sampled now or restored from the start of the training."""
    from trl import DPOConfig

    from tasks.train.backend.dpo import CpuDPOTrainer

    config = inputs.request.config
    preferences = Preferences()
    if inputs.checkpoint is None:
        preferences.pairs = preferred(inputs)
        require_pairs(len(preferences.pairs), config)
    else:
        preferences.load_state_dict(read_state(inputs.checkpoint, PREFERENCES))
    arguments = dpo_arguments(
        config, prompts=len(inputs.rows), seed=inputs.request.seed, work=inputs.work, on_gpu=inputs.on_gpu
    )
    trainer = CpuDPOTrainer(
        model=inputs.trainable.model,
        args=DPOConfig(**arguments),
        train_dataset=as_training_set(preferences.pairs),
        processing_class=inputs.trainable.tokenizer,
        peft_config=inputs.trainable.lora,
    )
    return StartedTraining(
        trainer,
        parts={PREFERENCES: preferences},
        write=preferences.write,
        summary=lambda: {"pairs": preferences.by_task()},
    )


def require_pairs(found: int, config: TrainConfig) -> None:
    """Refuse to train on fewer pairs than one optimizer step needs."""
    needed = pairs_per_pass(config) * config.accumulation
    if found < needed:
        raise GateRefused(
            f"the base policy's completions make too few pairs ({found}, one step needs {needed}) whose rewards differ "
            f"by train.preferences.min_gap {config.preferences.min_gap}; raise train.preferences.prompts or lower "
            "min_gap"
        )


def as_training_set(pairs: Sequence[PreferencePair]) -> Any:
    """Return the pairs as the data set of TRL's trainer."""
    from datasets import Dataset

    return Dataset.from_list(
        [
            {
                "prompt": as_messages(pair.system, pair.prompt),
                "chosen": [as_answer(pair.chosen)],
                "rejected": [as_answer(pair.rejected)],
            }
            for pair in pairs
        ]
    )


def preferred(inputs: TrainingInputs) -> list[PreferencePair]:
    """Let the policy answer training prompts in their natural mix, and pair its answers."""
    config, rewards, seed = inputs.request.config, inputs.rewards, inputs.request.seed
    asked = PromptSource(inputs.rows, seed).draw(min(config.preferences.prompts, len(inputs.rows)))
    each = [row for row in asked for _ in range(config.generations)]
    completions = generate(
        inputs.trainable.model.eval(),
        inputs.trainable.tokenizer,
        [as_messages(row.system, row.prompt) for row in each],
        temperature=config.temperature,
        max_tokens=config.max_completion_tokens,
        batch_size=config.completions_per_step,
        seed=seed,
        progress=inputs.channel.progress,
    )
    scores = score_beside(rewards.score(each, completions), rewards.spec)
    answers = [
        RewardedCompletion(scored.completion, scored.reward, completion.stop_reason is StopReason.END_OF_TURN)
        for scored, completion in zip(scores, completions, strict=True)
    ]
    groups = [answers[start : start + config.generations] for start in range(0, len(answers), config.generations)]
    return pairs(asked, groups, config.preferences.min_gap)


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        train(request_file, channel, start)
