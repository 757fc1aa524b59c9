"""A shopper's experience with one order, and its consequences: stars, intentions, the risk of leaving."""

import random
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from tasks.synthesize.market import ISSUES

RISK_BY_SCORE: Final = {1: 0.9, 2: 0.8, 3: 0.5, 4: 0.2, 5: 0.1}
CHANCE_OF_INTENTION: Final = 0.5
LEAST_PLEASURE: Final = (2.2, 2.45, 3.35, 4.42)
"""Minimum pleasure of two, three, four and five stars; few give two, as in Olist: disappointed shoppers give one."""
MOOD: Final = 0.65
CHANCE_OF_UNEXPLAINED: Final = 0.012
STARS_PER_DAY_LATE: Final = 0.15
USUAL_DELAY, LONG_DELAY = 4, 14
"""Days late at which the severity of `late` applies unchanged, and beyond which more days make it no worse."""


@dataclass(frozen=True)
class Experience:
    """One order as its shopper experienced it."""

    score: int
    """Stars, 1 to 5."""
    issues: tuple[str, ...]
    """Keys of `market.ISSUES`, the worst first; nothing else went wrong."""
    would_recommend: bool
    repeat_intent: bool

    @property
    def sentiment(self) -> str:
        """Return `positive` from four stars, `negative` up to two, else `neutral`."""
        return "positive" if self.score >= 4 else "neutral" if self.score == 3 else "negative"

    @property
    def churn_risk(self) -> float:
        """Return the probability that the shopper leaves because of this order alone, in tenths."""
        intention = -0.1 if self.repeat_intent else 0.1
        return round(RISK_BY_SCORE[self.score] + (intention if self.score == 3 else 0.0), 1)

    def has(self, category: str) -> bool:
        """Return whether an issue of the category occurred."""
        return any(ISSUES[key].category == category for key in self.issues)

    def causes(self) -> dict[str, Any]:
        """Return the true values of the ten fields of an extraction."""
        worst = ISSUES[self.issues[0]] if self.issues else None
        return {
            "sentiment": self.sentiment,
            "sentiment_score": self.score,
            "churn_risk": self.churn_risk,
            "delivery_issue": self.has("delivery"),
            "product_issue": self.has("product"),
            "seller_issue": self.has("seller"),
            "main_complaint": worst.complaint if worst else "",
            "complaint_category": worst.category if worst else "none",
            "repeat_intent": self.repeat_intent,
            "would_recommend": self.would_recommend,
        }


def judge(issues: Collection[str], leniency: float, generator: random.Random, days_late: int = 0) -> Experience:
    """Let a shopper rate an order.

    Args:
        issues: Keys of `market.ISSUES` that occurred.
        leniency: Stars that the shopper adds by temperament; 0 is usual.
        generator: Draws the mood of the day, and whether three stars mean recommending and returning.
        days_late: Whole days past the promised date: the longer, the worse.
    """
    ranked = tuple(sorted(issues, key=lambda key: (-ISSUES[key].severity, key)))
    cost = sum(ISSUES[key].severity for key in ranked)
    cost += STARS_PER_DAY_LATE * (min(days_late, LONG_DELAY) - USUAL_DELAY) if "late" in ranked else 0.0
    pleasure = 5 - cost + leniency + generator.gauss(0, MOOD)
    stars = 1 + sum(pleasure >= least for least in LEAST_PLEASURE)
    # Complaining shoppers do not give five stars, and those without a complaint give at least three, except the few who
    # dislike it all without saying why.
    score = min(stars, 4) if ranked else max(stars, 3)
    if not ranked and generator.random() < CHANCE_OF_UNEXPLAINED:
        score = generator.choice((1, 1, 2))
    if score == 3:
        recommends, returns = (generator.random() < CHANCE_OF_INTENTION for _ in range(2))
    else:
        recommends = returns = score > 3
    return Experience(score, ranked, recommends, returns)
