"""Decision on a tuned model: the gate's verdict by its scores, and by what an evaluation knows beside them."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple

from schemas.config.evaluate import RUNGS, EvaluateConfig, OverRungs, Rung
from schemas.documents import PairedScore, Rollout, ScoredRollout
from schemas.errors import InputError
from schemas.tasks import TASK_NAMES, TaskName
from tasks.bag_of_words.sentences import BAG_OF_WORDS
from tasks.commerce.shortcuts import variety_of
from tasks.evaluate.claims import AgainstBaseline, Floor, TaskClaim, gain_of_form, judged, judged_overall, not_learned
from tasks.evaluate.compare import BASE, CHAMPION, TUNED, Comparison
from tasks.evaluate.gate import PromotionGate, decide, hold_where_spoilt, hold_where_worse
from tasks.evaluate.retention import GeneralOutcome
from tasks.report.number_format import interval, signed
from tasks.report.wording import worded

Compare = Callable[[Sequence[PairedScore], Sequence[PairedScore]], Comparison]
"""Compares the second scores, of the tuned model, with the first."""
Scores = Mapping[str, Sequence[PairedScore]]
"""By name: `base`, `tuned` (of all seeds), `champion` if there is one, baselines and rungs."""
Metrics = Mapping[TaskName, Mapping[str, float]]


class Evaluated(NamedTuple):
    """One model's answers, their scores and their ground truth."""

    rollouts: Sequence[ScoredRollout]
    pairs: Sequence[PairedScore]
    metrics: Metrics
    repaired: Sequence[PairedScore] = ()
    """The pairs, with the ground truth of answers whose broken JSON is repaired."""


class Match:
    """Scores that are compared over all tasks, and once more over some; the second are the tuned model's."""

    def __init__(self, before: Sequence[PairedScore], challenger: Sequence[PairedScore], compare: Compare) -> None:
        self._before, self._challenger, self._compare = before, challenger, compare
        self.found: Final = compare(before, challenger)

    def of(self, tasks: Collection[TaskName]) -> Comparison:
        """Return the comparison over some of the tasks."""
        if self.found.tasks.keys() <= set(tasks):
            return self.found
        return self._compare(_of_tasks(tasks, self._before), _of_tasks(tasks, self._challenger))


class RungStanding(NamedTuple):
    """One rung of the ladder: what may be had for less, and the tuned model beside it, in place of the base."""

    name: str
    what: str
    found: Comparison


class Decision(NamedTuple):
    """The comparison of base and tuned with the gate's decision, and what else was compared for it."""

    comparison: Comparison
    champion: Comparison | None
    ladder: Sequence[RungStanding]


@dataclass(frozen=True)
class Evidence:
    """What an evaluation knows beside the scores."""

    claims: Mapping[TaskName, TaskClaim]
    """By task its floors and variety; baselines join them as they are compared."""
    chosen_seed: int
    """Seed of the training whose policy may be promoted."""
    baselines: Mapping[str, Mapping[TaskName, str]] = field(default_factory=dict)
    """By name of a baseline and by task, its text, or what it reads."""
    rungs: Sequence[Rung] = ()
    over_rungs: OverRungs = "report"
    """Whether a gain that a rung has too holds the model."""
    general: GeneralOutcome | None = None
    missing_references: Mapping[TaskName, tuple[int, int]] = field(default_factory=dict)
    """By task the number of test prompts without a reference, and of all."""

    def decide(self, scores: Scores, margin: float, compare: Compare) -> Decision:
        """Compare the scores, and decide by them and by what is known beside them.

        The tasks that count are those that base or tuned has learned; `margin` is the largest acceptable loss of a
        task, in score. The chosen policy is compared alone where it is one of several, and with the champion if the
        scores have one.
        """
        tuned = scores[TUNED]
        chosen = [pair for pair in tuned if pair.seed == self.chosen_seed]
        match = Match(scores[BASE], tuned, compare)
        alone = Match(scores[BASE], chosen, compare) if len(chosen) < len(tuned) else None
        champion = Match(scores[CHAMPION], chosen, compare) if CHAMPION in scores else None
        drawn = without("decoding", tuned)
        ladder = {name: Match(without("decoding", scores[name]), drawn, compare) for name in self.rungs}
        claims = self._beside_baselines(scores, compare)
        learned = [task for task, claim in claims.items() if claim.learned]
        if learned:
            counted = match.of(learned)
            # The table's blocks: one set of tasks for Holm's correction.
            scored = replace(counted.scores, tasks={task: match.found.tasks[task] for task in learned})
            gate = decide(scored, counted.seed_differences, margin, counted.ground_truth, claims)
            by_itself = worded("with seed {seed} alone (it would be promoted)", seed=self.chosen_seed)
            for name, other in ((by_itself, alone), (worded("against the champion"), champion)):
                if other is not None:
                    found = other.of(learned)
                    gate = hold_where_worse(gate, name, found.scores, found.ground_truth, margin)
            gate = self._over_rungs(gate, counted, {name: each.of(learned) for name, each in ladder.items()})
        else:
            nothing = worded("no task is learned, so that there is nothing to promote")
            gate = PromotionGate("hold", (), (nothing,), (*not_learned(claims),))
        truths = {"": match.found.ground_truth}
        if champion is not None:
            truths[f"{worded('against the champion')}, "] = champion.found.ground_truth
        gate = hold_where_spoilt(gate, claims, truths)
        if self.general is not None:
            gate = self.general.decide(gate)
        gate = hold_where_untested(gate, self.missing_references)
        if form := gain_of_form(claims, match.found.ground_truth):
            gate = gate.adding(against=[form])
        tasks = judged(match.found.tasks, claims)
        overall = judged_overall(match.found.overall, tasks)
        return Decision(
            replace(match.found, gate=gate, overall=overall, tasks=tasks, claims=claims),
            champion.found if champion else None,
            [RungStanding(name, RUNGS[name], each.found) for name, each in ladder.items()],
        )

    def _beside_baselines(self, scores: Scores, compare: Compare) -> dict[TaskName, TaskClaim]:
        """Compare the tuned model's scores with each baseline's; a gain over it needs no ground truth."""
        against: dict[TaskName, dict[str, AgainstBaseline]] = {task: {} for task in self.claims}
        for name, says in self.baselines.items():
            pairs = scores[name], _of_tasks(says, scores[TUNED])
            found = compare(*(pairs if name == BAG_OF_WORDS else [without("truth", each) for each in pairs]))
            truth = found.ground_truth.tasks if found.ground_truth else {}
            for task, block in found.tasks.items():
                against[task][name] = AgainstBaseline(says[task], block, truth.get(task))
        return {task: replace(claim, baselines=against[task]) for task, claim in self.claims.items()}

    def _over_rungs(
        self, gate: PromotionGate, over_base: Comparison, ladder: Mapping[Rung, Comparison]
    ) -> PromotionGate:
        """Say what of the gain is left over the best rung, and hold for it where required.

        Enough is left where the tuned model is better than that rung overall, on the tasks that count, by the paired
        test and its interval, in score and, where known, in ground truth. The best rung is the one that scores highest
        on the test split, which favours the rungs.
        """
        if not ladder:
            if self.over_rungs == "report" or gate.verdict == "hold":
                return gate
            return gate.held(
                worded(
                    "no rung that costs no more to serve was evaluated, so that nothing shows what the training is "
                    "worth (promote.over_rungs = require)"
                )
            )
        rung, found = max(ladder.items(), key=lambda each: each[1].overall.mean_base)
        before, left = over_base.overall, found.overall
        truth = found.ground_truth.overall if found.ground_truth else None
        sentence = worded(
            "`{rung}` alone has {without} of the gain of {gain} at no more cost to serve; the training adds {left}, "
            "95 % interval {interval}",
            gain=signed(before.mean_difference),
            rung=rung,
            without=signed(left.mean_base - before.mean_base),
            left=signed(left.mean_difference),
            interval=interval(left.ci_low, left.ci_high),
        )
        if truth is not None:
            sentence = worded(
                "{found}, in ground truth {difference} ({interval})",
                found=sentence,
                difference=signed(truth.mean_difference),
                interval=interval(truth.ci_low, truth.ci_high),
            )
        if left.shows_gain and (truth is None or truth.shows_gain):
            return gate.adding([sentence])
        unshown = "{found}; it is not shown that the training is worth more than `{rung}`"
        sentence = worded(unshown, found=sentence, rung=rung)
        return gate.held(sentence) if self.over_rungs == "require" else gate.adding(against=[sentence])


def claims_of(config: EvaluateConfig, base: Evaluated, chosen: Evaluated) -> dict[TaskName, TaskClaim]:
    """Return each task's floors and the variety of its answers, of the base and of the policy that may be promoted."""

    def floors(task: TaskName) -> Iterator[Floor]:
        before, after = base.metrics[task], chosen.metrics[task]
        for metric, least in config.floors.get(task, {}).items():
            if metric in after or metric in before:
                yield Floor(metric, least, before.get(metric, 0.0), after.get(metric, 0.0))

    return {
        task: TaskClaim(
            floors=tuple(floors(task)),
            variety=_variety(chosen.rollouts, task),
            base_variety=_variety(base.rollouts, task),
            min_variety=config.min_variety,
        )
        for task in chosen.metrics
    }


def _variety(rollouts: Sequence[ScoredRollout], task: TaskName) -> float | None:
    found = variety_of([rollout for rollout in rollouts if rollout.task == task])
    return None if found is None else found.share


def without(name: Literal["decoding", "truth"], pairs: Sequence[PairedScore]) -> list[PairedScore]:
    """Return scores without how their answers were drawn, which may differ, or without their ground truth."""
    return [pair.model_copy(update={name: None}) for pair in pairs]


def _of_tasks(tasks: Collection[TaskName], pairs: Sequence[PairedScore]) -> list[PairedScore]:
    return [pair for pair in pairs if pair.task in tasks]


def with_reference(answers: Sequence[Rollout]) -> list[Rollout]:
    """Return the answers to prompts of which something of the right answer is known; InputError where there are none.

    Scored by form alone, each model would earn the same on the others, and the more of them there were, the surer it
    would look that nothing was lost.
    """
    known = [each for each in answers if each.reference is not None]
    if answers and not known:
        raise InputError(
            "no prompt of the test split has a reference, so that no answer can be judged; have people give references "
            "(`tucano audit references`), or map them"
        )
    return known


def missing_references(answers: Sequence[Rollout]) -> dict[TaskName, tuple[int, int]]:
    """Return the prompts without a reference, and all, of the tasks that have some, of one model's answers."""
    known = {(each.task, each.prompt_id): each.reference is not None for each in answers}
    prompts = Counter(task for task, _ in known)
    missing = Counter(task for (task, _), has_reference in known.items() if not has_reference)
    return {task: (missing[task], prompts[task]) for task in TASK_NAMES if missing[task]}


def hold_where_untested(gate: PromotionGate, missing: Mapping[TaskName, tuple[int, int]]) -> PromotionGate:
    """Hold, whatever was decided, where a task was not tested at all; say where some prompts count for nothing."""
    none = "{task} is not tested: none of its {prompts} test prompts has a reference"
    some = "{untold} of {prompts} test prompts of {task} have no reference and count for nothing"
    said: dict[bool, list[str]] = {True: [], False: []}
    for task, (untold, prompts) in missing.items():
        untested = untold == prompts
        said[untested].append(worded(none if untested else some, task=task, untold=untold, prompts=prompts))
    gate = gate.adding(known=said[False])
    return gate.held(*said[True]) if said[True] else gate
