"""Requests to the gateway and their answers: OpenAI's chat completions, and a task's inputs."""

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    field_validator,
    model_validator,
)

from schemas.tables.prompts import PromptRow
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.commerce_task import CommerceTask
from tasks.commerce.inputs import LONGEST_TEXT
from tasks.commerce.registry import TASKS
from tasks.commerce.served import Served
from tasks.policy.control_tokens import without_control_tokens
from tasks.policy.generate import Message
from tasks.serve.engine_client import EngineAnswer
from tasks.serve.gateway.answer_schema import is_granted
from tasks.serve.gateway.limits import RequestRefused
from tasks.serve.questions import asked_row

LONGEST_MESSAGE: Final = 4 * LONGEST_TEXT
"""Characters of a message: a task's system prompt, or its inputs with the instruction."""


@dataclass(frozen=True)
class ShopQuestion:
    """What a client asks."""

    row: PromptRow
    guided: bool
    """Whether the task's grammar guides the answer, where the answer is JSON."""
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    """Others than the evaluation's; None for those."""
    earlier: tuple[Message, ...] = ()
    """Turns of the conversation between the system prompt and the prompt."""
    stop: tuple[str, ...] = ()
    """Texts before which the answer ends."""
    identity: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def request_id(self) -> str:
        """Name of the request: in its answer, in the log, and in feedback."""
        return f"{self.row.task}-{self.identity}"


@dataclass(frozen=True)
class Answered:
    """A question's answer, which is logged."""

    request_id: str
    version: str
    """NAME/VERSION of the model that answered."""
    answer: EngineAnswer
    """The model's own text, which is logged and never sent."""
    served: Served
    guided: bool
    milliseconds: float


class _Request(BaseModel):
    """A field that would be ignored is refused: whoever sends it expects it to matter. Null asks for nothing.

    As by OpenAI, a value of another type is no guess at the right one: `"false"` is not false, and true is not 1.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _leave_null_out(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        return {name: value for name, value in values.items() if value is not None}


def _only(*values: Any) -> AfterValidator:
    """Take a field that cannot be honoured at the values that ask for nothing."""

    def check(value: Any) -> Any:
        # Python takes true for 1.
        if not any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in values):
            shown = " or ".join(json.dumps(each) for each in values)
            raise ValueError(f"nothing but {shown} can be honoured; leave it out")
        return value

    return AfterValidator(check)


def _join_parts(content: Any) -> Any:
    """Join the parts of a message; those that are no text are refused by their names."""
    if not isinstance(content, list) or not content:
        return content
    for part in content:
        match part:
            case {"type": "text", "text": str(), **others} if all(each is None for each in others.values()):
                continue
            case {"type": "text" | "image_url" | "input_audio" | "file" | "refusal" as kind}:
                known = f"a part of type {kind}" if kind != "text" else "a part with more than its text"
            case _:
                known = "a part of no known type"
        raise ValueError(f"{known} cannot be honoured, for the model reads text alone; send parts of type text")
    return "".join(part["text"] for part in content)


def _as_list(stop: Any) -> Any:
    return ([stop] if stop else []) if isinstance(stop, str) else stop


class ChatMessage(_Request):
    """Turn of a conversation."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[str, BeforeValidator(_join_parts), Field(max_length=LONGEST_MESSAGE)]
    name: Annotated[Any, _only("")] = None
    refusal: Annotated[Any, _only("")] = None
    tool_calls: Annotated[Any, _only([])] = None
    annotations: Annotated[Any, _only([])] = None


class StreamSettings(_Request):
    """Options of a stream."""

    include_usage: bool = False
    include_obfuscation: Annotated[Any, _only(False)] = None


class AnswerForm(_Request):
    """JSON schema that answers are to satisfy."""

    name: Annotated[str, Field(max_length=200)]
    description: str | None = None
    wanted: Annotated[dict[str, JsonValue], Field(alias="schema")] = {}
    strict: bool = True
    """Granted or refused, a schema is never taken for a hint."""


class ResponseFormat(_Request):
    """Form of the answer."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: AnswerForm | None = None

    @model_validator(mode="after")
    def _has_its_schema(self) -> Self:
        if (self.type == "json_schema") != (self.json_schema is not None):
            raise ValueError("json_schema is given with the type json_schema, and only with it")
        return self


class ChatCompletionRequest(_Request):
    """Request to `/v1/chat/completions`: a question, after a system prompt and earlier turns where there are any."""

    model: Annotated[str, Field(max_length=200)]
    """NAME/TASK, or the model's name where the system prompt is a task's own."""
    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    stop: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=100)]], BeforeValidator(_as_list), Field(max_length=4)
    ] = []
    stream: bool = False
    stream_options: StreamSettings = StreamSettings()
    response_format: ResponseFormat = ResponseFormat(type="text")
    user: Annotated[str, Field(max_length=200)] | None = None
    safety_identifier: Annotated[str, Field(max_length=200)] | None = None
    metadata: Annotated[
        dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=512)]], Field(max_length=16)
    ] = {}
    """Kept nowhere, as the two above."""
    prompt_cache_key: Annotated[str, Field(max_length=200)] | None = None
    """A hint: every prompt has the same cache."""
    frequency_penalty: Annotated[Any, _only(0)] = None
    functions: Annotated[Any, _only([])] = None
    function_call: Annotated[Any, _only("none", "auto")] = None
    logit_bias: Annotated[Any, _only({})] = None
    logprobs: Annotated[Any, _only(False)] = None
    modalities: Annotated[Any, _only(["text"])] = None
    n: Annotated[Any, _only(1)] = None
    parallel_tool_calls: Annotated[Any, _only(True, False)] = None
    presence_penalty: Annotated[Any, _only(0)] = None
    prompt_cache_retention: Annotated[Any, _only("in_memory")] = None
    reasoning_effort: Annotated[Any, _only("none")] = None
    service_tier: Annotated[Any, _only("auto", "default")] = None
    store: Annotated[Any, _only(False)] = None
    tools: Annotated[Any, _only([])] = None
    tool_choice: Annotated[Any, _only("none", "auto")] = None
    top_logprobs: Annotated[Any, _only(0)] = None
    top_p: Annotated[Any, _only(1)] = None
    verbosity: Annotated[Any, _only("medium")] = None

    @field_validator("messages")
    @classmethod
    def _end_in_a_question(cls, messages: list[ChatMessage]) -> list[ChatMessage]:
        is_system = [message.role in {"system", "developer"} for message in messages]
        if messages[-1].role != "user":
            raise ValueError("the last message must be the user's, which is answered")
        if True in is_system[is_system.index(False) :]:
            raise ValueError("a system or developer message must come before all others")
        if sum(len(message.content) for message in messages) > 2 * LONGEST_MESSAGE:
            raise ValueError(f"all messages must have at most {2 * LONGEST_MESSAGE} characters together; send fewer")
        return messages

    def question(self, names: tuple[str, ...], *, guided: bool) -> ShopQuestion:
        """Return what is asked of the model of these names, guided as given where the request does not say so."""
        systems = [message.content for message in self.messages if message.role in {"system", "developer"}]
        system = "\n\n".join(systems)
        task = self._task(names, system)
        if "response_format" in self.model_fields_set:
            guided = self.response_format.type != "text"
            self._check_form(TASKS[task])
        return ShopQuestion(
            row=asked_row(task, system or TASKS[task].system, self.messages[-1].content),
            guided=guided,
            temperature=self.temperature,
            max_tokens=self.max_completion_tokens or self.max_tokens,
            seed=self.seed,
            earlier=tuple(
                {"role": message.role, "content": without_control_tokens(message.content)}
                for message in self.messages[len(systems) : -1]
            ),
            stop=tuple(self.stop),
        )

    def _check_form(self, task: CommerceTask) -> None:
        """Refuse a form that a task's answers are not served in, and a stop that could end an answer within it."""
        form, fault = self.response_format, None
        if form.type != "text" and task.schema is None:
            fault = f"{task.name} answers in text, not in JSON"
        elif form.json_schema and task.schema and not is_granted(task.schema, form.json_schema.wanted):
            fields = ", ".join(task.schema["properties"])
            fault = f"the schema is not satisfied by every answer of {task.name}, whose fields are {fields}"
        if fault is not None:
            sentence = f"response_format: {fault}; ask for less, or leave it out"
            raise RequestRefused(422, "form_not_given", sentence, param="response_format")
        if self.stop and form.type != "text":
            sentence = f"stop: it could end the answer within the {form.type} of response_format; leave one of them out"
            raise RequestRefused(422, "form_not_given", sentence, param="stop")

    def _task(self, names: tuple[str, ...], system: str) -> TaskName:
        by_name, by_system = tasks_by_name(names), {TASKS[task].system: task for task in TASK_NAMES}
        if self.model not in {*names, *by_name}:
            raise unknown_model(self.model)
        if task := by_name.get(self.model) or by_system.get(system):
            return task
        sentence = f"nothing says which task is asked; name the model {names[0]}/TASK, or send a task's system prompt"
        raise RequestRefused(404, "unknown_model", sentence, param="model")


def unknown_model(name: str) -> RequestRefused:
    """Return the refusal of a name that no served model has."""
    sentence = f"the model {name[:80]!r} is not served; GET /v1/models lists the served ones"
    return RequestRefused(404, "unknown_model", sentence, param="model")


def tasks_by_name(names: Iterable[str]) -> Mapping[str, TaskName]:
    """Return the task that is asked by each NAME/TASK, by the names of the served model."""
    return {f"{name}/{task}": task for name in names for task in TASK_NAMES}


class TaskReply(BaseModel):
    """Answer of `/v1/tasks/{task}`: the fields of `Served`, and how it was made."""

    request_id: str
    """Names the request where feedback is sent later."""
    task: TaskName
    version: str
    """NAME/VERSION of the model that answered."""
    text: str | None
    checked: bool
    reason: str | None
    parsed: dict[str, Any] | str | None
    guided: bool
    """Whether a grammar guided it."""
    tokens: int
    milliseconds: float
