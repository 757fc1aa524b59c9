"""Properties of rewards whose answers are one JSON object."""

from collections.abc import Mapping
from typing import Final

from tasks.audit.completions import json_objects
from tasks.audit.probes.properties import (
    WRONG,
    Probed,
    Property,
    ceiling,
    changes_nothing,
    content_before_form,
    costs,
    each_costs_more,
)


def _wrong_types(prompt: Probed) -> Mapping[str, float]:
    """Compare each value of a wrong type with null: both carry no information."""
    found: dict[str, float] = {}
    for wrong in json_objects.wrong_types(prompt.asked).values():
        rewards = {kind: prompt.reward(text) for kind, text in wrong.items()}
        null = next(iter(rewards.values()))
        found |= {kind: abs(reward - null) for kind, reward in rewards.items()}
    return found


JSON: Final = (
    changes_nothing("same_object", json_objects.same_object),
    Property("wrong_type", _wrong_types, "differs from null by", at_most=0),
    costs("missing_field", json_objects.missing_fields),
    costs("wrong_value", json_objects.wrong_values),
    each_costs_more("errors", json_objects.errors),
    ceiling("no_values", json_objects.without_values),
    ceiling("both_answers", json_objects.both_answers),
    ceiling("wrong_answer", json_objects.wrong_answer, WRONG),
    costs("more_fields", json_objects.more_fields, 0.0),
    costs("repaired", json_objects.broken),
    costs("unfinished", json_objects.cut_off),
    content_before_form(json_objects.flawed_form, json_objects.wrong_answer),
)
PORTUGUESE_NUMBER: Final = changes_nothing("portuguese_number", json_objects.portuguese_numbers)
CONTRADICTION: Final = ceiling("contradiction", json_objects.contradictions, WRONG)
