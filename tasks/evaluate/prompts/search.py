"""Search for the base's best system prompt, by task, on the validation split and with a budget of answers.

After GEPA (2507.19457): the best wording so far is kept by task, and what may replace it is proposed from the
components of its reward. Here most wordings are shipped, an endpoint may add some, a race chooses among them (`race`),
and examples of the training split are tried under the best one. The base answers in a child process, round by round;
the rewards are computed here. Equal inputs and equal replies of an endpoint give an equal choice.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from tokenizers import Tokenizer

from schemas.config.evaluate import PromptSearchConfig
from schemas.documents import ScoredRollout
from schemas.errors import InputError
from schemas.progress import Progress, silent
from schemas.tables.prompts import TRAIN_FILE, VALIDATION_FILE, read_prompts
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.commerce.registry import score_rollout
from tasks.commerce.sql_qa.open_databases import open_databases
from tasks.evaluate.answers.answer import Reworded
from tasks.evaluate.answers.files import read_answers, read_timing
from tasks.evaluate.prompts.proposals import PROPOSALS, Proposer
from tasks.evaluate.prompts.race import Runner, Trial, Trials, race
from tasks.evaluate.prompts.wordings import PromptCandidate, choose_shots, shipped, with_shots

CHOICE_FILE: Final = "prompts.json"
"""Artifact file: by task the chosen system prompt, and every candidate with its scores."""
COST_FILE: Final = "cost.json"
"""Artifact file: seconds of the search, a measurement."""

Answer = Callable[[int, Sequence[Reworded]], Path]
"""Lets the base answer a round, and returns the folder of its answers."""


@dataclass(frozen=True)
class Room:
    """Room of the base's context for longer system prompts."""

    tokenizer: Tokenizer
    context: int
    """Tokens that the base reads and writes at most."""
    longest: int
    """Tokens of the longest prompt under its own system prompt, and of the longest answer."""

    @classmethod
    def of(cls, base: Path, longest: int) -> "Room":
        """Read a base's tokenizer and context.

        Raises:
            InputError: The base does not state them.
        """
        file = base / "tokenizer.json"
        context = json.loads((base / "config.json").read_text(encoding="utf-8")).get("max_position_embeddings")
        if context is None or not file.is_file():
            raise InputError(
                "the base states no max_position_embeddings in config.json or has no tokenizer.json, so that no longer "
                "prompt can be checked; leave base-prompt out of evaluate.rungs"
            )
        return cls(Tokenizer.from_file(str(file)), context, longest)

    def tokens(self, text: str) -> int:
        """Return the tokens of a system prompt."""
        return len(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def holds(self, own: str, system: str) -> bool:
        """Return whether the longest prompt still fits under another system prompt."""
        return self.longest + self.tokens(system) - self.tokens(own) <= self.context


def search(
    config: PromptSearchConfig,
    spec: SpecName,
    seed: int,
    *,
    store: Path,
    dataset: Path,
    room: Room,
    answer: Answer,
    proposer: Proposer | None,
    output: Path,
    progress: Progress = silent,
) -> None:
    """Choose a system prompt for each task, and write the choice with its candidates.

    Args:
        config: The budget and the number of examples.
        spec: The reward specification that scores the answers.
        seed: Decides the examples.
        store: Folder of the store on which generated SQL is executed.
        dataset: Folder of the dataset, whose training and validation splits are read.
        room: Room for longer prompts.
        answer: Lets the base answer.
        proposer: Proposes further wordings; None without an endpoint.
        output: Receives the files.
        progress: Called with the answers so far and the budget.
    """
    databases = open_databases(store)
    rows = {split: read_prompts(dataset / split) for split in (TRAIN_FILE, VALIDATION_FILE)}
    tasks = [task for task in TASK_NAMES if any(row.task == task for row in rows[VALIDATION_FILE])]
    runners: dict[TaskName, list[Runner]] = {task: [] for task in tasks}
    too_long: dict[TaskName, set[str]] = {task: set() for task in tasks}
    proposed = dict.fromkeys(tasks, 0)
    folders: list[Path] = []

    def fitting(task: TaskName, candidates: Sequence[PromptCandidate]) -> list[PromptCandidate]:
        own = shipped(task)[0].system
        for each in candidates:
            if not room.holds(own, each.system):
                too_long[task].add(each.system)
        return [each for each in candidates if each.system not in too_long[task]]

    def shown(task: TaskName, candidate: PromptCandidate) -> list[PromptCandidate]:
        examples = choose_shots([row for row in rows[TRAIN_FILE] if row.task == task], config.shots, seed)
        return fitting(task, [with_shots(candidate, examples[: count + 1]) for count in range(len(examples))])

    def propose(task: TaskName, best: Runner) -> list[PromptCandidate]:
        if proposer is None:
            return []
        found = proposer.propose(task, best, proposed[task])
        proposed[task] += PROPOSALS
        return fitting(task, found)

    def races(task: TaskName) -> Trials:
        own, *others = shipped(task)
        return race(
            [own, *fitting(task, others)],
            partial(shown, task),
            partial(propose, task),
            budget=config.budget // len(tasks),
            rows=sum(row.task == task for row in rows[VALIDATION_FILE]),
            runners=runners[task],
        )

    def scored(wanted: Mapping[TaskName, Sequence[Trial]]) -> dict[TaskName, list[list[ScoredRollout]]]:
        trials = [(task, trial) for task, each in wanted.items() for trial in each]
        asked = [Reworded(task=task, system=trial.candidate.system, rows=tuple(trial.rows)) for task, trial in trials]
        folders.append(answer(len(folders) + 1, asked))
        rollouts = iter(read_answers(folders[-1]))
        found: dict[TaskName, list[list[ScoredRollout]]] = {task: [] for task in wanted}
        for task, trial in trials:
            found[task].append([score_rollout(next(rollouts), databases, spec) for _ in trial.rows])
        progress(sum(len(each.scored) for known in runners.values() for each in known), config.budget, "answers")
        return found

    chosen = _run_side_by_side({task: races(task) for task in tasks}, scored)
    document = {
        "tasks": {
            task: {
                **chosen[task].candidate._asdict(),
                "tokens": room.tokens(chosen[task].candidate.system),
                "own_tokens": room.tokens(shipped(task)[0].system),
                "too_long": len(too_long[task]),
                "candidates": [
                    {
                        **each.candidate._asdict(),
                        "answers": len(each.scored),
                        "mean": each.mean,
                        "components": each.components(),
                    }
                    for each in runners[task]
                ],
            }
            for task in tasks
        },
        "proposed": sum(proposed.values()),
        "refused": dict(sorted(proposer.refused.items())) if proposer else {},
        "failure": proposer.failure if proposer else None,
    }
    (output / CHOICE_FILE).write_text(json.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8")
    timings = [read_timing(folder) for folder in folders]
    cost = {
        "answers": sum(len(each.answers) for each in timings),
        "tokens": sum(each.tokens or 0 for timing in timings for each in timing.answers),
        "seconds": sum(each.machine_seconds or 0.0 for each in timings),
    }
    (output / COST_FILE).write_text(json.dumps(cost, indent=1), encoding="utf-8")


def _run_side_by_side(
    races: Mapping[TaskName, Trials],
    scored: Callable[[Mapping[TaskName, Sequence[Trial]]], Mapping[TaskName, Sequence[Sequence[ScoredRollout]]]],
) -> dict[TaskName, Runner]:
    """Run the tasks' races round by round, so that the base is loaded once a round, and return the winners."""
    chosen: dict[TaskName, Runner] = {}
    earned: dict[TaskName, Any] = dict.fromkeys(races)
    while earned:
        wanted: dict[TaskName, Sequence[Trial]] = {}
        for task, found in earned.items():
            try:
                wanted[task] = races[task].send(found)
            except StopIteration as ended:
                chosen[task] = ended.value
        earned = dict(scored(wanted)) if wanted else {}
    return chosen


def read_choice(folder: Path) -> dict[str, Any]:
    """Read the choice of a search's artifact."""
    document: dict[str, Any] = json.loads((folder / CHOICE_FILE).read_text(encoding="utf-8"))
    return document


def chosen_systems(folder: Path) -> dict[TaskName, str]:
    """Return the system prompts that a search chose, by task."""
    return {task: each["system"] for task, each in read_choice(folder)["tasks"].items()}


def read_cost(folder: Path) -> dict[str, float]:
    """Read what a search took."""
    cost: dict[str, float] = json.loads((folder / COST_FILE).read_text(encoding="utf-8"))
    return cost
