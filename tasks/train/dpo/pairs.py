"""DPO's pairs of completions, of each prompt's the best by reward against the worst, and its recipe as TRL arguments.

Imports nothing heavy.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from schemas.config.train import TrainConfig
from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName
from tasks.train.grpo.recipe import optimizer_arguments

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


def pairs_per_pass(config: TrainConfig) -> int:
    """Return the pairs of one forward pass: two completions each, so memory equals GRPO's."""
    return max(1, config.completions_per_step // config.accumulation // 2)


def dpo_arguments(config: TrainConfig, *, prompts: int, seed: int, work: Path, on_gpu: bool) -> dict[str, Any]:
    """Return the arguments of TRL's `DPOConfig` that a recipe decides; all others are TRL's defaults.

    The base without the adapter is the fixed reference. Prompts and completions have their own limits; nothing is
    truncated here.
    """
    return {
        **optimizer_arguments(config, prompts=prompts, seed=seed, work=work, on_gpu=on_gpu),
        "per_device_train_batch_size": pairs_per_pass(config),
        "ignore_data_skip": False,
        "beta": config.preferences.beta,
        "loss_type": ["sigmoid"],
        "label_smoothing": 0.0,
        "precompute_ref_log_probs": False,
        "sync_ref_model": False,
        "disable_dropout": True,
        "max_length": None,
        "padding_free": False,
        "dataset_num_proc": None,
        "trust_remote_code": False,
    }
