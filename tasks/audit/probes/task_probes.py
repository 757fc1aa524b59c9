"""Probes of one task: properties of every reward, made with the task's own words, and properties of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tasks.audit.completions import any_task
from tasks.audit.completions.asked import Maker
from tasks.audit.probes.criticism import CRITICISMS
from tasks.audit.probes.exploits import EXPLOITS
from tasks.audit.probes.properties import (
    FLOOR,
    FORM_COST,
    FULL,
    Property,
    Requirement,
    ceiling,
    costs,
    full_marks,
    unknown_fields,
)
from tasks.commerce.reward import Reference


def _nothing(reference: Reference) -> Sequence[str]:  # noqa: ARG001 - the signature of `facts`
    return ()


def _always(reference: Reference) -> bool:  # noqa: ARG001 - the signature of `is_sufficient`
    return True


@dataclass(frozen=True)
class TaskProbes:
    """Material of one task's audit: the `PROBES` of `tasks.audit.probes.NAME`."""

    keywords: str
    """Keywords of the task without an answer."""
    answer_format: str
    """Description of the answer format instead of an answer."""
    other_language: str
    """Answer in another language: English for Portuguese, Portuguese names for English ones."""
    own: tuple[Requirement, ...]
    """Properties beside those of every task."""
    always_known: tuple[str, ...] = ()
    """Values of a reference without which there is no question."""
    facts: Callable[[Reference], Sequence[str]] = _nothing
    """Facts that an answer must name, where the reference has them in words."""
    by_design: Mapping[str, float] = field(default_factory=dict)
    """Documented grades of components of the right answer that only a better answer has in full."""
    is_sufficient: Callable[[Reference], bool] = _always
    """Whether a wrong answer can be derived from a reference without nulls, and the right one does not contradict
    itself."""

    @property
    def worthless(self) -> Mapping[str, Maker]:
        """Return the makers of completions without content, by the name of their property."""
        return {
            "nothing_said": any_task.nothing_said,
            "refusal": lambda asked: any_task.refusals(asked, self.facts(asked.reference)),
            "prompt_echo": any_task.echoes,
            "format_echo": lambda _: {"format": self.answer_format},
            "keyword_stuffing": lambda asked: any_task.stuffing(self.keywords, self.facts(asked.reference)),
            "other_language": lambda _: {"another language": self.other_language},
        }

    @property
    def properties(self) -> tuple[Requirement, ...]:
        """Return all properties, those of every task first, and the critic's last."""
        return (
            Property("reference_answer", lambda prompt: {"the right answer": prompt.best}, "earns", at_least=FLOOR),
            Property("full_marks", full_marks(self.by_design), "has a component of", at_least=FULL),
            *(ceiling(name, make) for name, make in self.worthless.items()),
            unknown_fields(self.always_known),
            costs("cut_off", any_task.first_half),
            costs("chatter", any_task.chatter, FORM_COST),
            EXPLOITS,
            *self.own,
            *CRITICISMS,
        )
