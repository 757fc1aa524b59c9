"""Recording of scores, apart from reading them: an audit reads them and makes no prompts."""

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from schemas.config.config import AUDIT_FOLDER
from schemas.disk import replace_whole
from schemas.errors import InputError
from schemas.store.files import read_store
from schemas.tasks import TaskName
from tasks.audit.alterations.recorded import FOLDER, RecordedPrompt, read_recorded, scores_of
from tasks.audit.reward import RewardFunction
from tasks.commerce.example_makers import EXAMPLE_MAKERS

PROMPTS: Final = 8


def record(task: TaskName, score: RewardFunction, folder: Path = FOLDER) -> Sequence[RecordedPrompt]:
    """Write what the library's answers earn now: to the recorded prompts, or to some of the shipped store's.

    Raises:
        InputError: The file cannot be written.
    """
    known = list(read_recorded(task, folder)) or list(_shipped_prompts(task))
    prompts = [prompt.model_copy(update={"scores": scores_of(prompt, score)}) for prompt in known]
    path = folder / f"{task}.jsonl"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_whole(path, "".join(f"{prompt.model_dump_json()}\n" for prompt in prompts).encode())
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); give a folder that you may write") from None
    return prompts


def _shipped_prompts(task: TaskName) -> Iterable[RecordedPrompt]:
    examples = EXAMPLE_MAKERS[task](read_store(AUDIT_FOLDER / "store"), random.Random(0), PROMPTS)
    return (RecordedPrompt(task=task, prompt=each.prompt, reference=each.reference, scores={}) for each in examples)
