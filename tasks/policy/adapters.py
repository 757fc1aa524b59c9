"""Adapter folders of a policy, one for all tasks or one for each."""

from pathlib import Path
from typing import TYPE_CHECKING

from schemas.errors import InputError
from schemas.tasks import TaskName

if TYPE_CHECKING:
    from peft import PeftModel

ADAPTER_FOLDER = "adapter"
TASK_ADAPTERS_FOLDER = "adapters"


def adapter_for(policy: Path, task: TaskName) -> Path:
    """Return the folder of the adapter that answers a task's prompts."""
    one_for_all, own = policy / ADAPTER_FOLDER, policy / TASK_ADAPTERS_FOLDER / task
    if one_for_all.is_dir():
        return one_for_all
    if own.is_dir():
        return own
    trained = ", ".join(sorted(folder.name for folder in own.parent.glob("*"))) or "no task"
    raise InputError(
        f"the policy in {policy} has no adapter for {task}, only for {trained}; train it on prompts of {task}, or ask "
        "it none"
    )


def adapters_of(policy: Path) -> dict[str, Path]:
    """Return the folders of a policy's adapters by name: `adapter` for all tasks, or the names of the tasks."""
    one_for_all = policy / ADAPTER_FOLDER
    if one_for_all.is_dir():
        return {ADAPTER_FOLDER: one_for_all}
    return {folder.name: folder for folder in sorted((policy / TASK_ADAPTERS_FOLDER).iterdir())}


def switch_adapter(model: "PeftModel", adapter: Path) -> None:
    """Switch a policy to another adapter of the same training, keeping its base in memory."""
    if adapter.name not in model.peft_config:
        model.load_adapter(adapter, adapter_name=adapter.name)
    model.set_adapter(adapter.name)
