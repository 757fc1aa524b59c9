"""Names of the six commerce tasks, in the order of tables and reports, of the reward specifications and of guidance."""

from typing import Final, Literal, get_args

TaskName = Literal["extraction", "sql_qa", "insights", "push", "sentiment", "churn"]

TASK_NAMES: Final[tuple[TaskName, ...]] = get_args(TaskName)

SpecName = Literal["grounded", "v4.2"]
"""`grounded` checks the evidence of an answer; `v4.2` is the V4.2 report's architecture (docs/papers.md)."""

Guided = Literal["none", "forms", "all"]
"""Tasks whose answers a grammar guides: none, those whose right answers all have its form, or SQL as well."""
