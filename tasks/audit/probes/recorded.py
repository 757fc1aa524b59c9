"""Recorded scores: completions on which a reward must score as it did when it was last recorded.

They decide nothing about whether a reward is right: people's scores and the other probes do. They notice that a reward
was changed where nobody meant to change it. Who changes one on purpose records it again (`tucano audit record`), which
says for each completion what it earned and what it earns.
"""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from schemas.documents import Rollout, ScoredRollout
from schemas.json_lines import read_json_lines
from schemas.tasks import TaskName
from tasks.audit.attack.finds import replace_file
from tasks.audit.gate import Probe
from tasks.audit.reward import RewardFunction

DATA_FILES: Final = ("data/audit/recorded",)
FOLDER: Final = Path(__file__).resolve().parents[3] / "data" / "audit" / "recorded"
SPEC: Final = "grounded"
"""The reward specification that is recorded."""
SAME: Final = 0.02
"""Largest difference of a reward, or of a component, from the recorded one."""
NAMED: Final = 5
"""Changed completions that a probe's detail names."""
PLACES: Final = 3
"""Decimal places that are recorded."""


class RecordedRollout(Rollout):
    """A completion with what it earned."""

    scores: dict[str, float]
    """The reward, and its components by name."""


def recorded_scores(
    task: TaskName, asked: Collection[str], score: RewardFunction, folder: Path | None = None
) -> Probe | None:
    """Compare a reward with its recorded scores.

    Args:
        task: The task.
        asked: Identities of the audited prompts. Recorded queries run on the shipped store, so that they are compared
            only where the audit is of its prompts.
        score: The reward under audit.
        folder: The folder of the recorded scores; the shipped one if not given.

    Returns:
        The probe; None if nothing is recorded, another specification is audited, or another store.
    """
    recorded = read_recorded(task, folder)
    if task == "sql_qa" and not set(asked) <= {each.prompt_id for each in recorded}:
        return None
    if not recorded or score(recorded[0]).spec != SPEC:
        return None
    changed = list(changes(recorded, score))
    detail = f"{len(recorded) - len(changed)} of {len(recorded)} completions earn what is recorded"
    if changed:
        lines = [f"{line} ({said})" for line, said in changed[:NAMED]]
        more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
        detail += f"; not lines {', '.join(lines)}{more} of {_file(folder, task).name}; if meant: tucano audit record"
    return Probe(not changed, detail)


def changes(recorded: Sequence[RecordedRollout], score: RewardFunction) -> Iterator[tuple[int, str]]:
    """Yield the number of each recorded completion that earns something else, with the largest difference in words."""
    for line, each in enumerate(recorded, 1):
        found = _scores(score(each))
        names = found.keys() | each.scores.keys()
        differences = {name: abs(found.get(name, 2.0) - each.scores.get(name, 2.0)) for name in sorted(names)}
        name = max(differences, key=lambda name: differences[name])
        if not all(difference <= SAME for difference in differences.values()):
            yield line, f"{name} {each.scores.get(name, 'none')}, now {found.get(name, 'none')}"


def record(task: TaskName, rollouts: Sequence[Rollout], score: RewardFunction, folder: Path | None = None) -> None:
    """Write what completions earn now, in place of what was recorded of the task.

    Raises:
        InputError: The file cannot be written.
    """
    lines = []
    for each in rollouts:
        document = each.model_dump(mode="json", include=set(Rollout.model_fields))
        lines.append(RecordedRollout(**document, scores=_scores(score(each))).model_dump_json())
    replace_file(_file(folder, task), "".join(f"{line}\n" for line in lines))


def read_recorded(task: TaskName, folder: Path | None = None) -> Sequence[RecordedRollout]:
    """Return a task's completions with their recorded scores; none where nothing was recorded.

    Raises:
        InputError: The file holds something else.
    """
    path = _file(folder, task)
    return read_json_lines(path, RecordedRollout, "recorded scores") if path.is_file() else ()


def _scores(scored: ScoredRollout) -> dict[str, float]:
    found = {"reward": scored.reward, **scored.components}
    return {name: round(value, PLACES) for name, value in found.items()}


def _file(folder: Path | None, task: TaskName) -> Path:
    return (folder or FOLDER) / f"{task}.jsonl"
