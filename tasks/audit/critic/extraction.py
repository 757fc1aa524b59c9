"""Critic of extraction: fields that the review does not say, and the same fields in other words and layouts."""

import random
import re
from collections.abc import Mapping
from typing import Any, Final

from tasks.audit.critic.alteration import Case, Change, CriticAlteration
from tasks.audit.critic.json_changes import (
    FieldChange,
    Fields,
    added_to,
    instead_in,
    layouts,
    read,
    spoiled_forms,
    with_fields,
    write,
)
from tasks.audit.critic.wordings import Slots, read_wordings, written
from tasks.commerce.text.json_fields import sentiment_of
from tasks.commerce.text.text_form import fold

_WORDS: Final[Mapping[str, Any]] = read_wordings("extraction")
_REVIEW: Final = re.compile(r"^Avaliação: (.*)", re.MULTILINE | re.DOTALL)
_DELIVERY: Final = re.compile(r"^Entrega: (.*)", re.MULTILINE)
_ISSUES: Final = ("delivery", "product", "seller")


def review_of(case: Case) -> str:
    """Return the text of the review."""
    found = _REVIEW.search(case.prompt)
    return found[1] if found else ""


def absent_complaints(case: Case) -> list[Mapping[str, Any]]:
    """Return the complaints of which the review, the delivery and the good answer have no sign."""
    delivery = _DELIVERY.search(case.prompt)
    known = "" if delivery is None or delivery[1] == "no prazo" else delivery[1]
    review, fields = fold(f"{review_of(case)} {known}"), read(case)
    return [
        complaint
        for complaint in _WORDS["complaints"]
        if complaint["category"] != fields["complaint_category"] and not re.search(complaint["signs"], review)
    ]


def slots_of(case: Case, generator: random.Random) -> Slots:
    """Return what a wording can say of a complaint; nothing for what the answer does not have."""
    complaint = read(case)["main_complaint"]
    absent = absent_complaints(case)
    known = {"review": review_of(case)}
    if complaint:
        known["complaint"] = complaint
    return known | ({"other": generator.choice(absent)["text"]} if absent else {})


def _blame(category: str | None) -> FieldChange:
    """Return a change that makes up a complaint of a category, or of any, with all that follows from it."""

    def change(case: Case, fields: Fields, generator: random.Random) -> Mapping[str, Any] | None:
        fitting = [found for found in absent_complaints(case) if category in (None, found["category"])]
        if not fitting:
            return None
        chosen = generator.choice(fitting)
        issues = {f"{issue}_issue": fields[f"{issue}_issue"] or issue == chosen["category"] for issue in _ISSUES}
        return issues | {"main_complaint": chosen["text"], "complaint_category": chosen["category"]}

    return change


def _other_complaint(case: Case, fields: Fields, generator: random.Random) -> Mapping[str, Any] | None:
    if not fields["main_complaint"]:
        return None
    blamed = _blame(None)(case, fields, generator)
    if blamed is None:
        return None
    issues = {f"{issue}_issue": issue == blamed["complaint_category"] for issue in _ISSUES}
    return {**blamed, **issues}


def _hidden(case: Case, fields: Fields, generator: random.Random) -> Mapping[str, Any] | None:  # noqa: ARG001 - signature
    if not fields["main_complaint"]:
        return None
    return dict.fromkeys((f"{issue}_issue" for issue in _ISSUES), False) | {
        "main_complaint": "",
        "complaint_category": "none",
    }


def _mood(score: int) -> Mapping[str, Any]:
    content = score >= 4
    return {
        "sentiment": sentiment_of(score),
        "sentiment_score": score,
        "churn_risk": round(1 - score / 5, 1),
        "repeat_intent": content,
        "would_recommend": content,
    }


def _other_mood(case: Case, fields: Fields, generator: random.Random) -> Mapping[str, Any]:  # noqa: ARG001 - signature
    return _mood(1 if fields["sentiment_score"] >= 3 else 5)


def _everything(case: Case, fields: Fields, generator: random.Random) -> Mapping[str, Any] | None:
    opposite = _other_mood(case, fields, generator)
    issues = _hidden(case, fields, generator) or _blame(None)(case, fields, generator) or {}
    return {**opposite, **issues}


def _other_polarity(case: Case, fields: Fields, generator: random.Random) -> Mapping[str, Any]:  # noqa: ARG001 - signature
    return {"sentiment": "negative" if fields["sentiment_score"] >= 3 else "positive"}


def _other_intentions(case: Case, fields: Fields, generator: random.Random) -> Mapping[str, Any]:  # noqa: ARG001 - signature
    risk = round(1 - fields["churn_risk"], 2)
    other = {"repeat_intent": not fields["repeat_intent"], "would_recommend": not fields["would_recommend"]}
    return other if abs(risk - fields["churn_risk"]) < 0.3 else other | {"churn_risk": risk}


def _unread(score: int, complaint: str = "", category: str = "none") -> FieldChange:
    def change(case: Case, fields: Fields, generator: random.Random) -> Mapping[str, Any] | None:  # noqa: ARG001 - signature
        fixed = {f"{issue}_issue": issue == category for issue in _ISSUES}
        answer = {**_mood(score), **fixed, "main_complaint": complaint, "complaint_category": category}
        # By chance it may be nearly right.
        return answer if sum(fields[name] != value for name, value in answer.items()) >= 4 else None

    return change


def _half(case: Case, generator: random.Random) -> str:
    fields = read(case)
    kept = sorted(generator.sample(range(len(fields)), len(fields) // 2))
    return write({name: value for place, (name, value) in enumerate(fields.items()) if place in kept})


def _renamed(case: Case, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    return write({_WORDS["names"][name]: value for name, value in read(case).items()})


def _other_words(place: int) -> Change:
    def change(case: Case, generator: random.Random) -> str | None:  # noqa: ARG001 - every change's signature
        ways = _WORDS["other_words"].get(read(case)["main_complaint"])
        return write(read(case) | {"main_complaint": ways[place]}) if ways else None

    return change


def _nearby_risk(step: float) -> FieldChange:
    return lambda _, fields, __: {"churn_risk": round(min(max(fields["churn_risk"] + step, 0.01), 0.99), 2)}


_VALUES: Final[tuple[tuple[str, FieldChange, float], ...]] = (
    ("everything_opposite", _everything, 0.9),
    ("other_mood", _other_mood, 1.0),
    ("other_polarity", _other_polarity, 1.0),
    ("other_intentions", _other_intentions, 1.0),
    ("invented_delivery_complaint", _blame("delivery"), 0.3),
    ("invented_product_complaint", _blame("product"), 0.3),
    ("invented_seller_complaint", _blame("seller"), 0.3),
    ("invented_price_complaint", _blame("price"), 0.3),
    ("other_complaint", _other_complaint, 0.15),
    ("hidden_complaint", _hidden, 0.15),
    ("unread_praise", _unread(5), 0.2),
    ("unread_blame", _unread(1, _WORDS["usual_complaint"], "delivery"), 0.5),
    ("unread_middle", _unread(3), 0.5),
    ("issues_everywhere", lambda _, __, ___: {f"{issue}_issue": True for issue in _ISSUES}, 1.0),
    ("all_true", lambda _, fields, __: {name: True for name, value in fields.items() if isinstance(value, bool)}, 0.9),
)
ALTERATIONS: Final = (
    *(CriticAlteration(name, "costly", with_fields(change), applies) for name, change, applies in _VALUES),
    CriticAlteration("half_of_the_fields", "costly", _half),
    CriticAlteration("names_in_portuguese", "costly", _renamed),
    *written(
        "extraction",
        slots_of,
        {"complaint": instead_in("main_complaint"), "added": added_to("main_complaint")},
        "complaint",
    ),
    *spoiled_forms(_everything),
    *(
        CriticAlteration(f"complaint_in_other_words_{place + 1}", "harmless", _other_words(place), 0.1)
        for place in range(10)
    ),
    CriticAlteration("risk_a_little_higher", "harmless", with_fields(_nearby_risk(0.04))),
    CriticAlteration("risk_a_little_lower", "harmless", with_fields(_nearby_risk(-0.04))),
    *layouts(18),
)
