"""Retention: how many general instructions base and tuned follow, and whether what the training forgot is a loss.

The unit is the instruction, followed or not, and the test is the one of the scores: on differences of -1, 0 and 1
flipping signs is McNemar's test.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from schemas.config.evaluate import EvaluateConfig
from schemas.documents import Rollout
from tasks.evaluate.gate import PromotionGate
from tasks.evaluate.general.instructions import instructions
from tasks.evaluate.stats.statistics import PairedStats, measure
from tasks.evaluate.stats.variance import ALPHA, SMALLEST_EFFECT
from tasks.report.number_format import decimal, p_value, percent, signed
from tasks.report.wording import worded

MIN_FOLLOWED_SHARE: Final = 0.2
"""Share of the instructions below which a base has nothing to lose: a constant text follows 14 % of them."""


@dataclass(frozen=True)
class FollowedOfKind:
    """Instructions of one kind that were followed."""

    prompts: int
    base: int
    tuned: int


@dataclass(frozen=True)
class GeneralOutcome:
    """What base and tuned made of the same instructions."""

    stats: PairedStats
    """Over all instructions, each 1 where it was followed and else 0."""
    margin: float
    """The largest acceptable loss, as a share of all instructions."""
    required: bool
    """Whether a loss that is not excluded holds the model too."""
    kinds: Mapping[str, FollowedOfKind]

    @property
    def measurable(self) -> bool:
        """Return whether the base follows enough to lose any."""
        return self.stats.mean_base >= MIN_FOLLOWED_SHARE

    @property
    def objection(self) -> str | None:
        """Return what speaks against promotion; None where nothing does."""
        counts = self.required or self.stats.p_harm < ALPHA
        return self.finding if counts and self.measurable and not self._excluded else None

    @property
    def finding(self) -> str:
        """Return what was found, in one sentence."""
        base, tuned = (sum(getattr(kind, name) for kind in self.kinds.values()) for name in ("base", "tuned"))
        sentence = "general instructions: tuned follows {tuned} of {prompts} where base follows {base}"
        followed = worded(sentence, tuned=tuned, prompts=self.stats.n_prompts, base=base)
        if not self.measurable:
            little = "{followed}: not measurable, for a base that follows less than {least} has nothing to lose"
            return worded(little, followed=followed, least=percent(MIN_FOLLOWED_SHARE))
        if self._excluded:
            excluded = "{followed}: a loss as large as the margin of {margin} is excluded"
            return worded(excluded, followed=followed, margin=decimal(self.margin))
        if self.stats.p_harm < ALPHA:
            difference, p = signed(self.stats.mean_difference), p_value(self.stats.p_harm)
            harm = "{followed}: difference {difference}, p {p} for harm"
            return worded(harm, followed=followed, difference=difference, p=p)
        # The bound is known, for there are many instructions.
        loss, margin = decimal(-(self.stats.noninferiority_low or 0.0)), decimal(self.margin)
        undecided = worded("a loss of {loss} cannot be excluded, the margin is {margin}", loss=loss, margin=margin)
        return f"{followed}: {undecided}"

    def decide(self, gate: PromotionGate) -> PromotionGate:
        """Hold, whatever was decided, a model that no longer follows general instructions."""
        if self.objection is not None:
            return gate.held(self.objection)
        return gate.adding([self.finding]) if self.measurable and self._excluded else gate.adding(known=[self.finding])

    def report(self) -> dict[str, Any]:
        """Return its part of `report.json`."""
        return {**asdict(self), "measurable": self.measurable, "finding": self.finding}

    @property
    def _excluded(self) -> bool:
        low = self.stats.noninferiority_low
        return low is not None and low > -self.margin


def measure_general(
    config: EvaluateConfig, base: Sequence[Rollout], tuned: Sequence[Rollout], seed: int
) -> GeneralOutcome:
    """Check both models' answers to the instructions, and compare them."""
    asked = instructions()
    followed = []
    for rollouts in (base, tuned):
        answers = {rollout.prompt_id: rollout.completion for rollout in rollouts}
        followed.append(np.array([[each.followed(answers[each.id])] for each in asked], dtype=np.float64))
    margin = max(SMALLEST_EFFECT, config.general_loss * float(followed[0].mean()))
    rng = np.random.default_rng([seed, *b"general"])
    stats = measure(*followed, margin=margin, resamples=config.resamples, rng=rng)
    kinds = {}
    for kind in dict.fromkeys(each.kind for each in asked):
        of_kind = [number for number, each in enumerate(asked) if each.kind == kind]
        kinds[kind] = FollowedOfKind(len(of_kind), *(int(model[of_kind].sum()) for model in followed))
    return GeneralOutcome(stats, margin, config.general == "require", kinds)
