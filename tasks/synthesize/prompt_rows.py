"""Prompt rows of examples: what a task makes, with the identity of its content and the rows that it came from."""

from schemas.tables.prompts import PromptRow, content_id
from tasks.commerce.example import Example


def as_prompt_row(example: Example, source: str = "simulated") -> PromptRow:
    """Return an example as a row of a prompt table."""
    content = (example.task, example.system, example.prompt, example.reference)
    origin = (example.customer_id, example.order_id, example.review_id)
    return PromptRow(content_id(*content), *content, source, *origin)
