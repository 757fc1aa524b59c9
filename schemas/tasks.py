"""The names of the six commerce tasks, in the order in which tables and reports show them, and of the reward specs."""

from typing import Final, Literal, get_args

TaskName = Literal["extraction", "sql_qa", "insights", "push", "sentiment", "churn"]

TASK_NAMES: Final[tuple[TaskName, ...]] = get_args(TaskName)

SpecName = Literal["grounded", "v4.2"]
"""`grounded` knows what the reference knows; `v4.2` is the final report's architecture."""

SPEC_NAMES: Final[tuple[SpecName, ...]] = get_args(SpecName)
