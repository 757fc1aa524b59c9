"""Critic of sentiment: wrong polarities and scores, and the same object in other layouts."""

import random
from collections.abc import Mapping
from typing import Any, Final

from tasks.audit.critic.alteration import Case, CriticAlteration
from tasks.audit.critic.json_changes import FieldChange, Fields, layouts, spoiled_forms, with_fields
from tasks.audit.critic.wordings import read_wordings
from tasks.commerce.text.json_fields import SENTIMENTS, sentiment_of

_WORDS: Final[Mapping[str, Any]] = read_wordings("sentiment")


def _opposite(case: Case, fields: Fields, generator: random.Random) -> Mapping[str, Any]:  # noqa: ARG001 - signature
    score = 6 - fields["score"] if fields["score"] != 3 else generator.choice((1, 5))
    return {"polarity": sentiment_of(score), "score": score}


def _other_polarity(case: Case, fields: Fields, generator: random.Random) -> Mapping[str, Any]:
    return {"polarity": _opposite(case, fields, generator)["polarity"]}


def _other_end(case: Case, fields: Fields, generator: random.Random) -> Mapping[str, Any]:  # noqa: ARG001 - signature
    return {"score": 1 if fields["score"] > 3 else 5} if fields["score"] != 3 else {"score": generator.choice((1, 5))}


def _unread(case: Case, fields: Fields, generator: random.Random) -> Mapping[str, Any] | None:  # noqa: ARG001 - signature
    return None if fields["polarity"] == "neutral" else {"polarity": "neutral", "score": 3}


_VALUES: Final[tuple[tuple[str, FieldChange, float], ...]] = (
    ("opposite", _opposite, 1.0),
    ("other_polarity", _other_polarity, 1.0),
    ("other_end", _other_end, 1.0),
    ("unread_middle", _unread, 0.7),
    ("score_of_ten", lambda _, fields, __: {"score": 2 * fields["score"] if fields["score"] > 2 else 10}, 1.0),
    ("score_in_words", lambda _, fields, __: {"score": _WORDS["scores"][fields["score"] - 1]}, 1.0),
    ("score_as_share", lambda _, fields, __: {"score": fields["score"] / 5 - 0.05}, 1.0),
    ("polarity_in_portuguese", lambda _, fields, __: {"polarity": _WORDS["polarities"][fields["polarity"]]}, 1.0),
    ("every_polarity", lambda _, __, ___: {"polarity": ", ".join(SENTIMENTS)}, 1.0),
    ("mixed", lambda _, __, ___: {"polarity": "mixed"}, 1.0),
    ("swapped", lambda _, fields, __: {"polarity": fields["score"], "score": fields["polarity"]}, 1.0),
    ("no_polarity", lambda _, __, ___: {"polarity": ""}, 1.0),
)
ALTERATIONS: Final = (
    *(CriticAlteration(name, "costly", with_fields(change), applies) for name, change, applies in _VALUES),
    *spoiled_forms(_opposite),
    *layouts(31),
)
