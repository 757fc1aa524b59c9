"""Recorded scores: what a reward gives to the library's answers to some prompts, as it gave when it was last recorded.

They decide nothing about whether a reward is right: people's scores and the bounds do. They notice that a reward was
changed where nobody meant to change it, by one word or one step, which no bound would see. Who changes one on purpose
records it again (`tucano audit record --spec cited`), which says for each answer what it earned and what it earns.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from schemas.config.config import AUDIT_FOLDER
from schemas.disk import replace_whole
from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.json_lines import read_json_lines
from schemas.store.files import read_store
from schemas.tasks import SpecName, TaskName
from tasks.audit.alterations.library import RIGHT
from tasks.audit.alterations.run import ALTERATIONS, good_answer, shipped_stores
from tasks.audit.gate import Probe
from tasks.audit.reward import RewardFunction
from tasks.commerce.example_makers import makers_of

DATA_FILES: Final = ("data/audit/scores",)
FOLDER: Final = AUDIT_FOLDER / "scores"
SPEC: Final[SpecName] = "cited"
PROMPTS: Final = 8
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
    """By alteration: the reward, and its components by name."""

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
        detail += f"; not: {'; '.join(changed[:NAMED])}{more}; if meant: tucano audit record --spec {SPEC}"
    return Probe(not changed, detail)


def changes(prompt: RecordedPrompt, score: RewardFunction) -> Iterator[str]:
    """Yield in words each altered answer to a prompt that earns something else than was recorded."""
    now = _scores(prompt, score)
    for name in dict.fromkeys((*prompt.scores, *now)):
        before, after = prompt.scores.get(name, {}), now.get(name, {})
        gaps = {part: abs(before.get(part, 2.0) - after.get(part, 2.0)) for part in before.keys() | after.keys()}
        part = max(sorted(gaps), key=gaps.__getitem__)
        if not all(gap <= SAME for gap in gaps.values()):
            yield f"{name}: {part} {before.get(part, 'none')}, now {after.get(part, 'none')}"


def record(task: TaskName, score: RewardFunction, folder: Path = FOLDER) -> Sequence[RecordedPrompt]:
    """Write what the library's answers earn now: to the recorded prompts, or to some of the shipped store's.

    Raises:
        InputError: The file cannot be written.
    """
    known = list(read_recorded(task, folder)) or list(_shipped_prompts(task))
    prompts = [prompt.model_copy(update={"scores": _scores(prompt, score)}) for prompt in known]
    path = folder / f"{task}.jsonl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_whole(path, "".join(f"{prompt.model_dump_json()}\n" for prompt in prompts).encode())
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); give a folder that you may write") from None
    return prompts


def read_recorded(task: TaskName, folder: Path = FOLDER) -> Sequence[RecordedPrompt]:
    """Return a task's prompts with their recorded scores; none where nothing was recorded.

    Raises:
        InputError: The file holds something else.
    """
    path = folder / f"{task}.jsonl"
    return read_json_lines(path, RecordedPrompt, "recorded scores") if path.is_file() else ()


def _shipped_prompts(task: TaskName) -> Iterable[RecordedPrompt]:
    examples = makers_of(SPEC)[task](read_store(AUDIT_FOLDER / "store"), random.Random(0), PROMPTS)
    return (RecordedPrompt(task=task, prompt=each.prompt, reference=each.reference, scores={}) for each in examples)


def _scores(prompt: RecordedPrompt, score: RewardFunction) -> dict[str, dict[str, float]]:
    good = good_answer(prompt.task, SPEC, prompt.prompt, prompt.reference, shipped_stores(prompt.task))
    found = {}
    for alteration in ALTERATIONS[prompt.task]:
        text = alteration.apply(good)
        if text is not None and (alteration.knows is None or alteration.name == RIGHT.name):
            scored = score(prompt.rollout(text))
            found[alteration.name] = {
                name: round(value, PLACES) for name, value in {"reward": scored.reward, **scored.components}.items()
            }
    return found
