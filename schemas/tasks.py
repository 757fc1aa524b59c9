"""Names of the six commerce tasks, in the order of tables and reports, of the reward specifications and of guidance."""

from typing import Final, Literal, get_args

TaskName = Literal["extraction", "sql_qa", "insights", "push", "sentiment", "churn"]

TASK_NAMES: Final[tuple[TaskName, ...]] = get_args(TaskName)

SpecName = Literal["grounded", "v4.2", "cited"]
"""`grounded` uses the reference; `v4.2` is the V4.2 report's architecture (docs/papers.md); `cited` asks for
evidence that code checks where a task has such a form, and is `grounded` elsewhere."""

SPEC_NAMES: Final[tuple[SpecName, ...]] = get_args(SpecName)

CITED_TASKS: Final[tuple[TaskName, ...]] = ("extraction", "insights", "push", "churn")
"""The tasks that `cited` asks for in another form."""

Guided = Literal["none", "json", "all"]
"""Tasks whose answers a grammar guides: none, those that answer with an object, or all that have a grammar."""
