"""Inputs of SQL: a business question; the store's tables are in the system prompt."""

from pydantic import Field

from tasks.commerce.inputs import TaskInputs, Text


class QuestionInputs(TaskInputs):
    """Inputs of one query."""

    question: Text = Field(description="The question about the store, such as `Quantos pedidos foram entregues?`")

    def prompt(self, instruction: str) -> str:
        """Return the prompt."""
        return question_prompt(instruction, self.question)


def question_prompt(instruction: str, question: str) -> str:
    """Return the prompt of a question; the instruction says where it takes it."""
    return instruction.replace("{question}", question)
