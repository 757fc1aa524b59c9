"""Question of a client, and its answer."""

import uuid
from dataclasses import dataclass, field

from schemas.tables.prompts import PromptRow
from tasks.commerce.served import Served
from tasks.policy.generate import Message
from tasks.serve.engines.client import EngineAnswer


@dataclass(frozen=True)
class ShopQuestion:
    """What a client asks."""

    row: PromptRow
    guided: bool
    """Whether the task's grammar guides the answer, where the answer is JSON."""
    temperature: float | None = None
    """Another than that of the evaluation; None for that one."""
    max_tokens: int | None = None
    """Fewer tokens than at the evaluation; None for as many."""
    seed: int | None = None
    """Another seed than the version's; None for that one."""
    key: str | None = None
    """Whose requests the same version answers; those of the same prompt where None."""
    earlier: tuple[Message, ...] = ()
    """Turns of the conversation between the system prompt and the prompt."""
    stop: tuple[str, ...] = ()
    """Texts before which the answer ends."""
    needs_form: bool = False
    """Whether the client relies on the grammar."""
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
