"""Answers of base and tuned model to one test prompt."""

from dataclasses import dataclass

from schemas.tasks import TaskName


@dataclass(frozen=True)
class AnsweredPrompt:
    """Test prompt with each model's answer; with several samples, the first."""

    task: TaskName
    """The prompt's task."""
    prompt_id: str
    """Identity of the prompt, as in the scores."""
    prompt: str
    """The question, without the system prompt."""
    base_completion: str
    """The base model's answer."""
    tuned_completion: str
    """The tuned model's answer."""
