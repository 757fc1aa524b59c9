"""Claims: what a task must show beside its score before a gain is called better.

A score can rise on a task where one constant text earns more, where the ground truth stays useless, or where all
prompts get one answer; and more answers are right by form alone. So a gain counts where the model beats every baseline
by the paired test, stands above the task's floor in ground truth, and does not answer all prompts alike. A task where
base and tuned both stand below the floor is not learned: it counts neither for nor against, unless its answers became
alike or less right.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from schemas.tasks import TASK_NAMES, TaskName
from tasks.bag_of_words.sentences import form_sentence
from tasks.evaluate.stats.statistics import Blocks, PairedStats, Verdict
from tasks.report.number_format import decimal, interval, shortest, signed
from tasks.report.wording import worded

SHOWN: Final = 90  # Characters of a baseline's text in a sentence.


@dataclass(frozen=True)
class AgainstBaseline:
    """The tuned model against a baseline, which takes the place of the base."""

    says: str
    """Its text, or what it reads."""
    scores: PairedStats
    truth: PairedStats | None = None
    """The same of right answers, of a bag of words; None where unknown."""

    @property
    def beaten(self) -> bool:
        """Return whether the tuned model is shown to be better."""
        return self.scores.shows_gain


@dataclass(frozen=True)
class Floor:
    """Ground-truth metric below which a model is of no use on a task."""

    metric: str
    least: float
    base: float
    tuned: float

    def __str__(self) -> str:
        metric = worded(self.metric.replace("_", " "))
        return worded(
            "{metric} {tuned}, floor {least}", metric=metric, tuned=decimal(self.tuned), least=decimal(self.least, 2)
        )


@dataclass(frozen=True)
class TaskClaim:
    """What is known of one task beside base and tuned's scores."""

    baselines: Mapping[str, AgainstBaseline] = field(default_factory=dict)
    floors: tuple[Floor, ...] = ()
    variety: float | None = None
    """Variety of the tuned model's answers, as a share of the references'; None where unknown."""
    base_variety: float | None = None
    """The same of the base's."""
    min_variety: float = 0.0
    repaired: PairedStats | None = None
    """Right answers of base and tuned where broken JSON is repaired first; None where none of it could be."""

    @property
    def best_baseline(self) -> str | None:
        """Return the name of the baseline that scores highest; None without any."""
        return max(self.baselines, key=lambda name: self.baselines[name].scores.mean_base, default=None)

    @property
    def beats_baselines(self) -> bool:
        """Return whether the tuned model is shown to be better than every baseline."""
        return all(baseline.beaten for baseline in self.baselines.values())

    @property
    def learned(self) -> bool:
        """Return whether base or tuned is of any use on the task."""
        tuned = all(floor.tuned >= floor.least for floor in self.floors)
        return tuned or all(floor.base >= floor.least for floor in self.floors)

    @property
    def became_alike(self) -> bool:
        """Return whether the tuned model answers all prompts alike, and the base does not."""
        return self._is_alike(self.variety) and not self._is_alike(self.base_variety)

    @property
    def floor_values(self) -> str:
        """Return where the tuned model stands with each floor."""
        return "; ".join(map(str, self.floors))

    def verdict(self, block: PairedStats) -> Verdict:
        """Return a task's verdict: that of its scores, or what keeps it from counting."""
        if self.became_alike:
            return "collapsed"
        if not self.learned:
            return "not learned"
        if any(floor.tuned < floor.least for floor in self.floors):
            return "below floor"
        claimed = block.verdict == "better"
        if claimed and self._is_alike(self.variety):
            return "collapsed"
        if claimed and not self.beats_baselines:
            return "no better"
        return block.verdict

    def objection(self, task: TaskName, block: PairedStats) -> str | None:
        """Return what the gate objects to, as a sentence; None where nothing but the scores counts."""
        found = self.verdict(block)
        if found == "below floor":
            return worded("{task} fell below its floor: {standing}", task=task, standing=self.floor_values)
        if found == "collapsed":
            return self.collapse(task)
        return self._against_best(task) if found == "no better" and self.is_beaten else None

    def note(self, task: TaskName, block: PairedStats) -> str | None:
        """Return which baseline is not beaten, where that is no objection; None where each is."""
        return self._against_best(task) if (self.verdict(block) == "no better") != self.is_beaten else None

    def collapse(self, task: TaskName) -> str:
        """Return how little the answers of a task vary."""
        return worded(
            "{task} collapsed: its answers are {variety} times as varied as the references "
            "(evaluate.min_variety {least})",
            task=task,
            variety=decimal(self.variety or 0.0, 2),
            least=shortest(self.min_variety),
        )

    def not_learned(self, task: TaskName) -> str:
        """Return why the task counts neither for nor against, and what is better without a model."""
        sentence = worded(
            "{task} is not learned, neither by base nor by tuned, and does not count: {standing}",
            task=task,
            standing=self.floor_values,
        )
        if self.best_baseline is None or not self.is_beaten:
            return sentence
        better = "{found}; {baseline} scores {its} where tuned scores {tuned}"
        return worded(better, found=sentence, **self._beside(self.best_baseline))

    @property
    def is_beaten(self) -> bool:
        """Return whether a baseline scores higher than the tuned model."""
        return any(each.scores.mean_base > each.scores.mean_tuned for each in self.baselines.values())

    def _is_alike(self, variety: float | None) -> bool:
        return variety is not None and variety < self.min_variety

    def _against_best(self, task: TaskName) -> str:
        """Compare the task with the best baseline among those that are not shown to be beaten."""
        unbeaten = [name for name, each in self.baselines.items() if not each.beaten]
        name = max(unbeaten, key=lambda name: self.baselines[name].scores.mean_base)
        scores = self.baselines[name].scores
        return worded(
            "{task} is not shown to be better than {baseline}, which scores {its} where tuned scores {tuned}: "
            "difference {difference}, 95 % interval {interval}",
            task=task,
            difference=signed(scores.mean_difference),
            interval=interval(scores.ci_low, scores.ci_high),
            **self._beside(name),
        )

    def _beside(self, name: str) -> dict[str, str]:
        """Return the words for a baseline, its score, and the tuned model's."""
        scores, text = self.baselines[name].scores, " ".join(self.baselines[name].says.split())
        said = f" ({text if len(text) <= SHOWN else f'{text[:SHOWN]}...'})" if text else ""
        return {
            "baseline": worded("the baseline `{name}`", name=worded(name)) + said,
            "its": decimal(scores.mean_base),
            "tuned": decimal(scores.mean_tuned),
        }


def judged(tasks: Mapping[TaskName, PairedStats], claims: Mapping[TaskName, TaskClaim]) -> dict[TaskName, PairedStats]:
    """Return the tasks' blocks with their verdicts after all that is known of them."""
    return {
        task: replace(block, verdict=claims[task].verdict(block)) if task in claims else block
        for task, block in tasks.items()
    }


def judged_overall(overall: PairedStats, tasks: Mapping[TaskName, PairedStats]) -> PairedStats:
    """Return the overall block, which is not better where no judged task is."""
    if overall.verdict != "better" or any(block.verdict == "better" for block in tasks.values()):
        return overall
    learned = any(block.verdict != "not learned" for block in tasks.values())
    return replace(overall, verdict="no better" if learned else "not learned")


def not_learned(claims: Mapping[TaskName, TaskClaim]) -> list[str]:
    """Return a sentence for each task that counts neither for nor against."""
    return [claim.not_learned(task) for task, claim in claims.items() if not claim.learned]


def gain_of_form(claims: Mapping[TaskName, TaskClaim], truth: Blocks | None) -> str:
    """Return how much of the gain in right answers is form, over the tasks where none is shown by repaired JSON."""
    repaired = {task: claim.repaired for task, claim in claims.items() if claim.repaired is not None}
    strict = truth.tasks if truth else {}
    form = [task for task, found in repaired.items() if strict[task].shows_gain and not found.shows_gain]
    if not form:
        return ""
    gain, left = (sum(of[task].mean_difference * of[task].n_prompts for task in form) for of in (strict, repaired))
    return form_sentence(form, gain, left)


def unlearned_tasks(report: Mapping[str, Any]) -> dict[TaskName, str]:
    """Return the tasks that the tuned model has not learned, by an evaluation's `report.json`, with what it found."""
    found: dict[TaskName, str] = {}
    for task in TASK_NAMES:
        if task not in report["tasks"]:
            found[task] = "its evaluation asked nothing of it"
        elif (verdict := report["tasks"][task]["verdict"]) in ("not learned", "below floor", "collapsed"):
            floors = (Floor(**floor) for floor in report["claims"][task]["floors"])
            found[task] = "; ".join(str(floor) for floor in floors if floor.tuned < floor.least) or verdict
    return found
