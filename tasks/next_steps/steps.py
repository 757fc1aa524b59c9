"""Next steps after a hold: what would help, by the facts of evaluation, training and data, the surest first."""

import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from schemas.references import ASKED_FIELDS
from schemas.tables.summaries import PromptsSummary
from schemas.tasks import TaskName
from tasks.bag_of_words.bag import objections
from tasks.bag_of_words.sentences import BAG_OF_WORDS, classifier_sentence
from tasks.report.number_format import decimal
from tasks.report.wording import worded

MIN_ROWS: Final = 500  # Training prompts of a task below which more are likely to help.
MAX_TIMES: Final = 4  # Largest multiple of a training's steps that is proposed at once.
FIRST_STEPS: Final = 20  # Steps of GRPO that are planned where none was taken.
MAX_NEXT_STEPS: Final = 3


class NextStep(NamedTuple):
    """One thing that would help after a hold."""

    why: str  # The finding, as a sentence without its full stop.
    command: str  # The command for it, without profile and state folder.
    training_steps: int | None = None  # Steps of its training, where it changes them.

    def whole(self, given: Sequence[str], root: Path, version: str, seconds_a_step: float) -> dict[str, str]:
        """Return the step with a command that works as printed, and its training's minutes where they are known.

        `given` are the run's options, and `version` its policy's; `seconds_a_step` is 0 where nothing was trained now.
        """
        command, *settings = self.command.split(" --")
        command += f" {version}" if command == "tucano promote" else ""
        own = ["--state", str(root)] if command == "tucano audit references" else given
        why = self.why
        if self.training_steps and seconds_a_step:
            minutes = decimal(self.training_steps * seconds_a_step / 60, 1)
            why += f"; {worded('about {minutes} minutes of training', minutes=minutes)}"
        return {"command": " --".join([f"{command} {shlex.join(own)}", *settings]), "why": why}


@dataclass(frozen=True)
class Trained:
    """Training and data of the policy that was evaluated."""

    validation: tuple[tuple[int, float], ...]
    """Steps, from 0 on, with the mean validation reward at each."""
    steps: int
    stopped_early: bool
    prompts_a_step: float
    """Prompts that a step sees for the first time."""
    asked: Mapping[TaskName, int]
    """Prompts to make, by task, of a store that gives more on demand; empty for a shop's own files."""
    scored_by_people: bool


def read_trained(policy: Path, settings: Mapping[str, Any] | None, prompts: Path) -> Trained | None:
    """Read what a policy and the artifact of its prompts say; None without the settings that it was trained by."""
    file = policy / "training.json"
    if not settings or "train" not in settings or "environment" in (training := json.loads(file.read_bytes())):
        return None
    recipe, made = settings["train"], PromptsSummary.read(prompts)
    # A step of DPO is of pairs, and tasks may be trained apart.
    prompts_a_step = recipe["prompts_per_step"] * (recipe["generations"] / 2 if recipe["algorithm"] == "dpo" else 1)
    prompts_a_step *= len(training["validation"][0]["by_task"]) if recipe["adapter_per_task"] else 1
    return Trained(
        tuple((each["step"], each["mean_reward"]) for each in training["validation"]),
        training["steps"],
        training["stopped_early"],
        prompts_a_step=prompts_a_step / recipe["iterations"],
        asked={} if made.source == "files" else made.asked,
        scored_by_people="human" in training["audit"]["raters"].values(),
    )


def next_steps(
    report: Mapping[str, Any], metrics: Mapping[Any, Any], rows: Mapping[TaskName, int], trained: Trained | None
) -> list[NextStep]:
    """Return at most three, by `report.json`, `ground_truth.json` and training prompts by task."""
    if report["gate"]["verdict"] == "promote":
        return []
    references, bags = [*_references(report)], [*_bags(report, metrics)]
    found = [
        *(step for step, is_sure in (*references, *bags) if is_sure),
        *(_more_steps(sum(rows.values()), trained) if trained else ()),
        *_fewer_tasks(report),
        *(step for step, is_sure in (*bags, *references) if not is_sure),
        *(_more_rows(report, rows, trained) if trained else ()),
    ]
    unscored = worded("no person has scored answers by which the rewards were audited")
    if trained and not trained.scored_by_people:
        found.append(NextStep(unscored, "tucano retrain --set audit.require_human=true"))
    return found[:MAX_NEXT_STEPS]


def _references(report: Mapping[str, Any]) -> Iterator[tuple[NextStep, bool]]:
    """Yield that people give references; it is sure to help where a task is not tested for want of them."""
    some = "{untold} of {prompts} test prompts of {task} have no reference and count for nothing"
    for task, (untold, prompts) in report["untold"].items():
        if task in ASKED_FIELDS:
            why = worded(some, untold=untold, prompts=prompts, task=task)
            yield NextStep(why, f"tucano audit references --task {task} --rater me"), untold == prompts


def _bags(report: Mapping[str, Any], metrics: Mapping[str, Any]) -> Iterator[tuple[NextStep, bool]]:
    """Yield each bag of words that is right more often and may be promoted, and whether an interval shows that."""
    for task, claim in report["claims"].items():
        truth = claim["baselines"].get(BAG_OF_WORDS, {}).get("truth")
        if truth and truth["mean_difference"] < 0 and not objections(task, report, metrics):
            why = classifier_sentence(task, truth["n_prompts"], truth["mean_base"], truth["mean_tuned"])
            yield NextStep(why, f"tucano promote --baseline {task}"), (truth["ci_high"] or 0.0) < 0


def _more_steps(rows: int, trained: Trained) -> Iterator[NextStep]:
    """Yield a plan of GRPO after SFT alone; else more steps where validation still rose or prompts stayed unseen."""
    if not trained.steps:
        why = worded("SFT alone was trained; the plan tells in a minute whether GRPO after it could add anything")
        yield NextStep(why, f"tucano plan --set train.max_steps={FIRST_STEPS}")
        return
    *earlier, (step, last) = trained.validation
    sampled, found = round(trained.steps * trained.prompts_a_step), list[str]()
    if earlier and last > max(reward for _, reward in earlier):
        rise = "validation still rose at the last step, {step}: from {before} to {last}"
        found.append(worded(rise, step=step, before=decimal(earlier[-1][1]), last=decimal(last)))
    if sampled < rows:
        found.append(worded("at most {sampled} of {rows} training prompts were sampled", sampled=sampled, rows=rows))
    if found and not trained.stopped_early:
        steps = min(max(2 * trained.steps, math.ceil(rows / trained.prompts_a_step)), MAX_TIMES * trained.steps)
        yield NextStep("; ".join(found), f"tucano retrain --set train.max_steps={steps}", steps)


def _fewer_tasks(report: Mapping[str, Any]) -> Iterator[NextStep]:
    """Yield a training without the tasks that are not learned, where others are."""
    useless = [task for task, block in report["tasks"].items() if block["verdict"] == "not learned"]
    if 0 < len(useless) < len(report["tasks"]):
        why = worded("steps went to what is not learned: {tasks}", tasks=", ".join(useless))
        yield NextStep(why, "tucano retrain" + "".join(f" --set synthesize.counts.{task}=0" for task in useless))


def _more_rows(report: Mapping[str, Any], rows: Mapping[TaskName, int], trained: Trained) -> Iterator[NextStep]:
    """Yield more rows of the tasks that have few and are not better, whatever else is known of them."""
    few = {
        task: rows[task]
        for task, block in report["tasks"].items()
        if 0 < rows.get(task, 0) < MIN_ROWS and block["verdict"] not in ("better", "not learned")
    }
    tasks = ", ".join(f"{task} {count}" for task, count in few.items())
    why = worded("fewer than {enough} prompts to train on: {tasks}", enough=MIN_ROWS, tasks=tasks)
    # Curation keeps about the same share of more prompts.
    wanted = {task: math.ceil(trained.asked.get(task, 0) * MIN_ROWS / count) for task, count in few.items()}
    counts = "".join(f" --set synthesize.counts.{task}={count}" for task, count in wanted.items() if count)
    if few:
        why = why if counts else worded("{why}; add rows to your files first", why=why)
        yield NextStep(why, f"tucano retrain{counts}")
