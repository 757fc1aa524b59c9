"""Inputs of the tasks, as flows give them to the files of a shop."""

from collections.abc import Mapping

from schemas.tasks import TaskName
from tasks.commerce.inputs import TaskInputs
from tasks.commerce.registry import TASKS

INPUTS: Mapping[TaskName, type[TaskInputs]] = {name: task.inputs for name, task in TASKS.items()}
