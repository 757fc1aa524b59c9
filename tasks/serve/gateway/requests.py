"""Requests to the gateway and their answers: OpenAI's chat completions, and a task's inputs."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from schemas.errors import InputError
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.inputs import LONGEST_TEXT
from tasks.commerce.registry import TASKS
from tasks.serve.gateway.answering import Answered, ShopQuestion
from tasks.serve.questions import asked_row

LONGEST_MESSAGE: Final = 4 * LONGEST_TEXT
"""Characters of a message: a task's system prompt, or its inputs with the instruction."""


class _Request(BaseModel):
    """A field that would be ignored is refused: whoever sends it expects it to matter."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ChatMessage(_Request):
    """Turn of a conversation."""

    role: Literal["system", "developer", "user"]
    content: Annotated[str, Field(max_length=LONGEST_MESSAGE)]


class StreamSettings(_Request):
    """Options of a stream."""

    include_usage: bool = False


class ResponseFormat(_Request):
    """Form of the answer."""

    type: Literal["text", "json_object"]


class ChatCompletionRequest(_Request):
    """Request to `/v1/chat/completions`: one question, with or without its system prompt."""

    model: Annotated[str, Field(max_length=200)]
    """NAME/TASK, or the model's name where the system prompt is a task's own."""
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=2)]
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    stream: bool = False
    stream_options: StreamSettings | None = None
    response_format: ResponseFormat | None = None
    n: Literal[1] = 1
    user: Annotated[str, Field(max_length=200)] | None = None
    """Whose requests the same version answers while a challenger is tried; it is not logged."""

    @model_validator(mode="after")
    def _is_one_question(self) -> Self:
        roles = [message.role for message in self.messages]
        if roles[-1] != "user" or "user" in roles[:-1]:
            raise ValueError("messages must be one user message, after at most one system message")
        return self

    def question(self, names: tuple[str, ...], *, guided: bool) -> ShopQuestion:
        """Return what is asked.

        Args:
            names: Names of the served model.
            guided: Whether answers are guided where the request does not say so.

        Raises:
            InputError: The model is another one, or nothing says which task is asked.
        """
        system = self.messages[0].content if len(self.messages) == 2 else None
        task = self._task(names, system)
        if self.response_format is not None:
            guided = self.response_format.type == "json_object"
        return ShopQuestion(
            row=asked_row(task, system or TASKS[task].system, self.messages[-1].content),
            guided=guided and TASKS[task].answers_in_json,
            temperature=self.temperature,
            max_tokens=self.max_completion_tokens or self.max_tokens,
            seed=self.seed,
            key=self.user,
        )

    def _task(self, names: tuple[str, ...], system: str | None) -> TaskName:
        task = tasks_by_name(names).get(self.model)
        if task is not None:
            return task
        if self.model not in names:
            raise InputError(f"the model {self.model[:80]!r} is not served; GET /v1/models lists the served ones")
        for task in TASK_NAMES:
            if system == TASKS[task].system:
                return task
        raise InputError(
            f"nothing says which of the six tasks is asked; name the model {names[0]}/TASK, or send a task's own "
            "system prompt"
        )


def tasks_by_name(names: Iterable[str]) -> Mapping[str, TaskName]:
    """Return the task that is asked by each NAME/TASK, which any request may name as its model.

    Args:
        names: Names of the served model.
    """
    return {f"{name}/{task}": task for name in names for task in TASK_NAMES}


class TaskReply(BaseModel):
    """Answer of `/v1/tasks/{task}`."""

    request_id: str
    """Names the request where feedback is sent later."""
    task: TaskName
    version: str
    """NAME/VERSION of the model that answered."""
    valid: bool
    """Whether the answer can be used as it is."""
    fault: str | None
    """Why not; null where it can."""
    answer: dict[str, Any] | str | None
    """A JSON task's object, a query, or the text; null where nothing can be read."""
    completion: str
    """The answer as the model wrote it."""
    guided: bool
    """Whether a grammar guided it."""
    tokens: int
    milliseconds: float

    @classmethod
    def of(cls, task: TaskName, answered: Answered) -> Self:
        """Return the answer to a task's question."""
        return cls(
            request_id=answered.request_id,
            task=task,
            version=answered.version,
            valid=answered.fault is None,
            fault=answered.fault,
            answer=answered.checked.parsed,
            completion=answered.answer.text,
            guided=answered.guided,
            tokens=answered.answer.tokens,
            milliseconds=round(answered.milliseconds, 1),
        )
