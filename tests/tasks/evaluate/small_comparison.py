"""Small comparisons and a full background, for the tests of what is made of them."""

from collections.abc import Sequence

from schemas.documents import PairedScore, ScoredRollout
from schemas.tasks import TaskName
from tasks.evaluate.answers.cost import Serving
from tasks.evaluate.compare import Comparison, compare
from tasks.evaluate.report.background import Background, Looks, OtherModel, SideBySide, side_by_side

PROMPTS = 12
HOSTILE = (
    '</div></section><script>alert(1)</script><img src="https://example.org/x" onerror=alert(1)> {{ 7 * 7 }} '
    "a | b `c` [d](https://example.org) \ud800 \u202e \x1b[2J"
)


def scores(
    task: TaskName,
    values: Sequence[float],
    *,
    seed: int = 0,
    sample: int = 0,
    truth: Sequence[float | None] | None = None,
) -> list[PairedScore]:
    """Return a score of a task's prompts, in their order, for each value."""
    known = truth or [None] * len(values)
    return [
        PairedScore(prompt_id=f"p{number:02}", task=task, seed=seed, sample=sample, score=value, truth=known[number])
        for number, value in enumerate(values)
    ]


def comparison(gain: float = 0.2, *, seeds: Sequence[int] = (0,), with_truth: bool = False) -> Comparison:
    """Compare a base that scores .4 everywhere with a model that gains between half of `gain` and one and a half."""

    def scored(gain: float, seeds: Sequence[int], truth: float) -> list[PairedScore]:
        right = [truth] * PROMPTS if with_truth else None
        found: list[PairedScore] = []
        for place, seed in enumerate(seeds):
            values = [0.4 + gain * (0.5 + number / 12) + 0.01 * place for number in range(PROMPTS)]
            found += scores("push", values, seed=seed, truth=right)
        return found

    return compare(scored(0, (0,), 0.5), scored(gain, seeds, 0.75), margin=0.05, resamples=1_000, seed=0)


def answers(text: str, gain: float = 0.2) -> tuple[SideBySide, ...]:
    """Choose among the prompts of `comparison`, to which the base and a rung say one text."""
    found: dict[str, list[ScoredRollout]] = {"base": [], "base-guided": [], "tuned": []}
    for number in range(PROMPTS):
        for model, rollouts in found.items():
            completion = f"melhor {number}" if model == "tuned" else text
            rollouts.append(
                ScoredRollout.model_construct(
                    task="push",
                    prompt_id=f"p{number:02}",
                    prompt=f"pergunta {number}",
                    completion=completion,
                    reference={"product": f"produto {number}", "offer": HOSTILE},
                    reward=0.4,
                    components={"grounding": 0.25},
                    parsed=None,
                    spec="grounded",
                    reward_version="",
                )
            )
    return side_by_side(comparison(gain).prompts, found, 7)


def background(text: str = HOSTILE) -> Background:
    """Return a background in which everything is known, and every name is hostile."""
    against = comparison(0.1)
    return Background(
        answers=answers(text),
        chosen_seed=7,
        ground_truth={
            "push": {
                "constraint_rate": {"base": 0.25, "tuned": 0.75, text: 0.5},
                "names_product": {"base": 0.25, "tuned": 0.75, "constant": 0.5},
                "names_offer": {"base": 0.5, "tuned": 0.25, "constant": 0.25},
            }
        },
        known_answers={"push": PROMPTS},
        identities={"reward version": "ab" * 32, text: text},
        champion=against,
        champion_name=text,
        others=[OtherModel(text, text, against)],
        serving=[
            Serving("base", 12, 180.4, 0.031, 1.4, 3.8, 0.00031, 1920.0, "NVIDIA L4", 0.71),
            Serving(text, 12, 260.1, 0.0, 2.0, 4.0, 0.0098, None),
        ],
        known_to_base={"push": 3, "churn": 1},
        looks=Looks(1, "2026-11-20T10:00:00+00:00", "2026-11-20T10:05:00+00:00", None),
    )
