"""Decision on a tuned model: the gate's verdict by its scores, and by what an evaluation knows beside them."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from schemas.config.evaluate import BASELINES, RUNGS, EvaluateConfig, OverRungs
from schemas.documents import PairedScore, Rollout, ScoredRollout
from schemas.errors import InputError
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.shortcuts import variety_of
from tasks.evaluate.claims import AgainstBaseline, Floor, TaskClaim, judged, judged_overall, not_learned
from tasks.evaluate.compare import CHAMPION, Comparison, read_report, scores_file
from tasks.evaluate.gate import PromotionGate, decide, hold_where_worse
from tasks.evaluate.retention import GeneralOutcome, read_general
from tasks.evaluate.stats.pairing import read_scores
from tasks.report.number_format import interval, signed
from tasks.report.wording import worded

Compare = Callable[[Sequence[PairedScore], Sequence[PairedScore]], Comparison]
"""Compares the second scores, of the tuned model, with the first."""
Metrics = Mapping[TaskName, Mapping[str, float]]


class Evaluated(NamedTuple):
    """One model's answers, their scores and their ground truth."""

    rollouts: Sequence[ScoredRollout]
    pairs: Sequence[PairedScore]
    metrics: Metrics


class Match(NamedTuple):
    """Scores that were compared, with their comparison over all tasks; the second are the tuned model's."""

    before: Sequence[PairedScore]
    challenger: Sequence[PairedScore]
    found: Comparison

    def of(self, tasks: Collection[TaskName], compare: Compare) -> Comparison:
        """Return the comparison over some of the tasks."""
        if self.found.tasks.keys() <= set(tasks):
            return self.found
        return compare(_of_tasks(tasks, self.before), _of_tasks(tasks, self.challenger))


def matched(before: Sequence[PairedScore], challenger: Sequence[PairedScore], compare: Compare) -> Match:
    """Compare scores, and return them with what was found."""
    return Match(before, challenger, compare(before, challenger))


def rung_match(rung: Sequence[PairedScore], tuned: Sequence[PairedScore], compare: Compare) -> Match:
    """Compare the tuned model with a rung, which draws in its own way."""
    return matched(without_decoding(rung), without_decoding(tuned), compare)


class ScoredBaseline(NamedTuple):
    """Scores of answers that take no model."""

    name: str
    says: Mapping[TaskName, str]
    """By task, its text, or the lines that it reads."""
    pairs: Sequence[PairedScore]


@dataclass(frozen=True)
class RungStanding:
    """One rung of the ladder: what may be had for less, which takes the base's place in its match."""

    name: str
    what: str
    match: Match


@dataclass(frozen=True)
class GateConditions:
    """What the gate examines beside the scores of base and tuned."""

    claims: Mapping[TaskName, TaskClaim]
    chosen_seed: int
    """Seed of the training whose policy may be promoted."""
    alone: Match | None = None
    """The base and that policy; None where it is the only one."""
    champion: Match | None = None
    ladder: Sequence[RungStanding] = ()
    over_rungs: OverRungs = "report"
    """Whether a gain that a rung has too holds the model."""
    general: GeneralOutcome | None = None
    missing_references: Mapping[TaskName, tuple[int, int]] = field(default_factory=dict)
    """By task the number of test prompts without a reference, and of all."""

    def decide(self, match: Match, margin: float, compare: Compare) -> Comparison:
        """Return the comparison of base and tuned with the gate's decision, and verdicts after all that is examined.

        The tasks that count are those that base or tuned has learned; `margin` is the largest acceptable loss of a
        task, in score.
        """
        learned = [task for task, claim in self.claims.items() if claim.learned]
        if learned:
            counted = match.of(learned, compare)
            gate = decide(counted.scores, counted.seed_differences, margin, counted.ground_truth, self.claims)
            alone = worded("with seed {seed} alone (it would be promoted)", seed=self.chosen_seed)
            for name, other in ((alone, self.alone), (worded("against the champion"), self.champion)):
                if other is not None:
                    found = other.of(learned, compare)
                    gate = hold_where_worse(gate, name, found.scores, found.ground_truth, margin)
            gate = self._over_rungs(gate, counted, learned, compare)
        else:
            nothing = worded("no task is learned, so that there is nothing to promote")
            gate = PromotionGate("hold", (nothing, *not_learned(self.claims)))
        if self.general is not None:
            gate = self.general.decide(gate)
        gate = hold_where_untested(gate, self.missing_references)
        tasks = judged(match.found.tasks, self.claims)
        overall = judged_overall(match.found.overall, tasks)
        return replace(match.found, gate=gate, overall=overall, tasks=tasks, claims=self.claims)

    def _over_rungs(
        self, gate: PromotionGate, over_base: Comparison, learned: Collection[TaskName], compare: Compare
    ) -> PromotionGate:
        """Say what of the gain is left over the best rung, and hold for it where required.

        Enough is left where the tuned model is better than that rung overall, on the tasks that count, by the paired
        test and its interval, in score and, where known, in ground truth. The best rung is the one that scores highest
        on the test split, which favours the rungs.
        """
        if not self.ladder:
            if self.over_rungs == "report" or gate.verdict == "hold":
                return gate
            return gate.held(
                worded(
                    "no rung that costs no more to serve was evaluated, so that nothing shows what the training is "
                    "worth (promote.over_rungs = require)"
                )
            )
        standings = [(rung.name, rung.match.of(learned, compare)) for rung in self.ladder]
        rung, found = max(standings, key=lambda each: each[1].overall.mean_base)
        before, left = over_base.overall, found.overall
        truth = found.ground_truth.overall if found.ground_truth else None
        sentence = worded(
            "of the gain of {gain}, `{rung}` has {without}, at no more cost to serve; {left} is left, 95 % interval "
            "{interval}",
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
            return gate.with_reasons(sentence)
        unshown = "{found}; it is not shown that the training is worth more than `{rung}`"
        sentence = worded(unshown, found=sentence, rung=rung)
        return gate.held(sentence) if self.over_rungs == "require" else gate.with_reasons(sentence)


def best_rung(rungs: Sequence[RungStanding]) -> RungStanding | None:
    """Return the rung of the highest score; None without any."""
    return max(rungs, key=lambda rung: rung.match.found.overall.mean_base, default=None)


def claims_of(
    config: EvaluateConfig,
    base: Evaluated,
    chosen: Evaluated,
    tuned: Sequence[PairedScore],
    baselines: Sequence[ScoredBaseline],
    compare: Compare,
) -> dict[TaskName, TaskClaim]:
    """Return what is known of each task beside base and tuned's scores.

    Ground truth and variety are those of the chosen policy, which may be promoted; the policies of all seeds are
    compared with the baselines.
    """
    against = _against_baselines(baselines, tuned, compare)

    def floors(task: TaskName) -> Iterator[Floor]:
        before, after = base.metrics[task], chosen.metrics[task]
        for metric, least in config.floors.get(task, {}).items():
            if metric in after or metric in before:
                yield Floor(metric, least, before.get(metric, 0.0), after.get(metric, 0.0))

    return {
        task: TaskClaim(
            baselines=against.get(task, {}),
            floors=tuple(floors(task)),
            variety=_variety(chosen.rollouts, task),
            base_variety=_variety(base.rollouts, task),
            min_variety=config.min_variety,
        )
        for task in chosen.metrics
    }


def _against_baselines(
    baselines: Sequence[ScoredBaseline], tuned: Sequence[PairedScore], compare: Compare
) -> dict[TaskName, dict[str, AgainstBaseline]]:
    """Compare the tuned model with each baseline, by task and name; the mean of a baseline's ground truth is enough."""
    against: dict[TaskName, dict[str, AgainstBaseline]] = {}
    for baseline in baselines:
        found = compare(_without("truth", baseline.pairs), _without("truth", _of_tasks(baseline.says, tuned)))
        for task, block in found.tasks.items():
            truths = [pair.truth for pair in baseline.pairs if pair.task == task and pair.truth is not None]
            mean = fmean(truths) if truths else None
            against.setdefault(task, {})[baseline.name] = AgainstBaseline(baseline.says[task], block, mean)
    return against


def _variety(rollouts: Sequence[ScoredRollout], task: TaskName) -> float | None:
    own = [rollout for rollout in rollouts if rollout.task == task]
    found = variety_of(own) if own else None
    return None if found is None else found.share


def without_decoding(pairs: Sequence[PairedScore]) -> list[PairedScore]:
    """Return scores without how their answers were drawn, which may differ."""
    return _without("decoding", pairs)


def _without(name: str, pairs: Sequence[PairedScore]) -> list[PairedScore]:
    return [pair.model_copy(update={name: None}) for pair in pairs]


def _of_tasks(tasks: Collection[TaskName], pairs: Sequence[PairedScore]) -> list[PairedScore]:
    return [pair for pair in pairs if pair.task in tasks]


def with_reference(answers: Sequence[Rollout]) -> list[Rollout]:
    """Return the answers to prompts of which something of the right answer is known.

    Scored by form alone, each model would earn the same on the others, and the more of them there were, the surer it
    would look that nothing was lost.

    Raises:
        InputError: There are none.
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
    return gate.held(*said[True], *said[False]) if said[True] else gate.with_reasons(*said[False])


def read_conditions(
    folder: Path, base: Sequence[PairedScore], tuned: Sequence[PairedScore], over_rungs: OverRungs, compare: Compare
) -> GateConditions:
    """Read what an evaluation examined, and compare once more what it compared.

    Raises:
        InputError: The evaluation is of a version that wrote something else.
    """
    try:
        report = read_report(folder)
        seeds = {pair.seed for pair in tuned}
        # Where there is one, earlier versions wrote none.
        seed = int(report["chosen_seed"]) if len(seeds) > 1 else seeds.pop()
        chosen = [pair for pair in tuned if pair.seed == seed]
        champion = read_scores(folder / scores_file(CHAMPION)) if report["champion"] else None
        # Earlier versions had rungs that cost more to serve, over which no gate decides.
        rungs = {name: rung["description"] for name, rung in report["ladder"].items() if name in RUNGS}
        against = _against_baselines(list(_read_baselines(report["claims"], folder)), tuned, compare)
        return GateConditions(
            claims={
                task: TaskClaim(
                    baselines=against.get(task, {}),
                    floors=tuple(Floor(**floor) for floor in claim["floors"]),
                    variety=claim["variety"],
                    base_variety=claim["base_variety"],
                    min_variety=claim["min_variety"],
                )
                for task, claim in report["claims"].items()
            },
            chosen_seed=seed,
            alone=matched(base, chosen, compare) if len(chosen) < len(tuned) else None,
            champion=None if champion is None else matched(champion, chosen, compare),
            ladder=[
                RungStanding(name, what, rung_match(read_scores(folder / scores_file(name)), tuned, compare))
                for name, what in rungs.items()
            ],
            over_rungs=over_rungs,
            general=read_general(report["general"]),
            missing_references={task: (found[0], found[1]) for task, found in report.get("untold", {}).items()},
        )
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{folder} is of another version of this program, and what it examined cannot be read "
            f"({type(error).__name__}: {error}); evaluate again with `tucano evaluate`"
        ) from None


def _read_baselines(claims: Mapping[TaskName, Mapping[str, Any]], folder: Path) -> Iterator[ScoredBaseline]:
    for name in BASELINES:
        says = {task: claim["baselines"][name]["says"] for task, claim in claims.items() if name in claim["baselines"]}
        if says:
            yield ScoredBaseline(name, says, read_scores(folder / scores_file(name)))
