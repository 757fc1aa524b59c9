"""The names of the six commerce tasks, in the order in which tables and reports show them."""

from typing import Final, Literal, get_args

TaskName = Literal["extraction", "sql_qa", "insights", "push", "sentiment", "churn"]

TASK_NAMES: Final[tuple[TaskName, ...]] = get_args(TaskName)
