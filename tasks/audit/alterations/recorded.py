"""Recorded scores: what a reward gives to the library's answers to some prompts, as it gave when it was last recorded.

They decide nothing about whether a reward is right: people's scores and the bounds do. They notice that a reward was
changed where nobody meant to change it, by one word or one step, which no bound would see. Who changes one on purpose
records it again (`tucano audit record`), which says for each answer what it earned and what it earns.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from schemas.config.config import AUDIT_FOLDER
from schemas.documents import Rollout
from schemas.json_lines import read_json_lines
from schemas.tasks import TaskName
from tasks.audit.alterations.library import RIGHT
from tasks.audit.alterations.run import ALTERATIONS, good_answer, shipped_stores
from tasks.audit.gate import Probe
from tasks.audit.reward import RewardFunction

DATA_FILES: Final = ("data/audit/scores",)
FOLDER: Final = AUDIT_FOLDER / "scores"
SAME: Final = 0.0015
"""Largest difference of a reward, or of a component, from the recorded one, which is rounded."""
PLACES: Final = 3
NAMED: Final = 5
"""Changed answers that a probe's detail names."""

Scores = Mapping[str, float]


class RecordedPrompt(BaseModel):
    """A prompt, and what each altered answer to it earned."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task: TaskName
    prompt: str
    reference: dict[str, Any]
    scores: dict[str, dict[str, float]]

    def rollout(self, completion: str) -> Rollout:
        """Return an answer to it, which may be text that no file holds."""
        known = Rollout(prompt_id="-", task=self.task, prompt=self.prompt, completion="", reference=self.reference)
        return known.model_copy(update={"completion": completion})


def recorded_changes(task: TaskName, score: RewardFunction, folder: Path = FOLDER) -> Probe | None:
    """Compare a reward with its recorded scores; None where nothing was recorded.

    Queries run on the store under audit, so that they are compared only where that is the shipped one: where the right
    answers earn what they earned.

    Raises:
        InputError: The file holds something else.
    """
    prompts = read_recorded(task, folder)
    changed = [said for prompt in prompts for said in changes(prompt, score)]
    if not prompts or (task == "sql_qa" and any(said.startswith(f"{RIGHT.name}:") for said in changed)):
        return None
    count = sum(len(prompt.scores) for prompt in prompts)
    detail = f"{count - len(changed)} of {count} altered answers earn what is recorded"
    if changed:
        more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
        detail += f"; not: {'; '.join(changed[:NAMED])}{more}; if meant: tucano audit record"
    return Probe(not changed, detail)


def changes(prompt: RecordedPrompt, score: RewardFunction) -> Iterator[str]:
    """Yield in words each altered answer to a prompt that earns something else than was recorded."""
    now = scores_of(prompt, score)
    for name in dict.fromkeys((*prompt.scores, *now)):
        before, after = prompt.scores.get(name, {}), now.get(name, {})
        gaps = {part: abs(before.get(part, 2.0) - after.get(part, 2.0)) for part in before.keys() | after.keys()}
        part = max(sorted(gaps), key=gaps.__getitem__)
        if not all(gap <= SAME for gap in gaps.values()):
            yield f"{name}: {part} {before.get(part, 'none')}, now {after.get(part, 'none')}"


def read_recorded(task: TaskName, folder: Path = FOLDER) -> Sequence[RecordedPrompt]:
    """Return a task's prompts with their recorded scores; none where nothing was recorded.

    Raises:
        InputError: The file holds something else.
    """
    path = folder / f"{task}.jsonl"
    return read_json_lines(path, RecordedPrompt, "recorded scores") if path.is_file() else ()


def scores_of(prompt: RecordedPrompt, score: RewardFunction) -> dict[str, dict[str, float]]:
    """Return what the library's answers to a prompt earn now, by alteration, rounded as they are recorded."""
    good = good_answer(prompt.task, prompt.prompt, prompt.reference, shipped_stores(prompt.task))
    found = {}
    for alteration in ALTERATIONS[prompt.task]:
        text = alteration.apply(good)
        if text is not None and (alteration.knows is None or alteration.name == RIGHT.name):
            scored = score(prompt.rollout(text))
            found[alteration.name] = {
                name: round(value, PLACES) for name, value in {"reward": scored.reward, **scored.components}.items()
            }
    return found
