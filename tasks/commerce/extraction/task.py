"""Extraction: ten fields of a product review, as one JSON object."""

import json
import random
from itertools import groupby
from operator import itemgetter
from typing import Final

from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.extraction.quotation import COMPLAINT, LONGEST, MAX_READ, MOST_WORDS, fault_of, review_of
from tasks.commerce.extraction.real_reviews import ISSUE_TOPICS
from tasks.commerce.extraction.scorer import CATEGORIES, READABLE, REWARD, V42_REWARD, contradiction_in
from tasks.commerce.extraction.truth import metric
from tasks.commerce.grammar import BOOLEAN, FAULTS, SHARE, STARS, Field, object_schema, one_of, serve_object, spoil_json
from tasks.commerce.inputs import ReviewInputs
from tasks.commerce.regulated import is_sensitive
from tasks.commerce.reward import Reference
from tasks.commerce.served import Served, written
from tasks.commerce.text.json_fields import CAUSE_FIELDS, SENTIMENTS, sentiment_of

_FIELDS: Final[dict[str, Field]] = dict.fromkeys(CAUSE_FIELDS, BOOLEAN) | {
    "sentiment": one_of(SENTIMENTS),
    "sentiment_score": STARS,
    "churn_risk": SHARE,
    "complaint_category": one_of(sorted(CATEGORIES)),
}
_QUOTATION: Final[Field] = {"type": "string", "pattern": "^.*$", "maxLength": LONGEST}


def answer(reference: Reference) -> str:
    """Return the ten fields as compact JSON; unknown values follow from the complaint and the rating."""
    rating = reference.get("rating") or 3
    known = {name: value for name, value in (reference.get("fields") or {}).items() if value is not None}
    complaint = reference.get("complaint_words") or known.get(COMPLAINT, "")
    issues = (name for name in ISSUE_TOPICS if known.get(f"{name}_issue"))
    category = known.get("complaint_category") or next(issues, "other" if complaint else "none")
    plausible = {
        "sentiment": sentiment_of(rating),
        "sentiment_score": rating,
        "churn_risk": round(1 - rating / 5, 1),
        **{f"{name}_issue": category == name for name in ISSUE_TOPICS},
        "complaint_category": category,
        **dict.fromkeys(("repeat_intent", "would_recommend"), rating >= 4),
    }
    return written({name: known.get(name, plausible.get(name)) for name in CAUSE_FIELDS} | {COMPLAINT: complaint})


def spoil(right: str, generator: random.Random) -> str:
    """Spoil the object as other tasks', after leaving the complaint out or cutting it off, each at times."""
    fields = json.loads(right)
    words = fields[COMPLAINT].split()
    fault, shares = generator.random(), FAULTS.extraction
    if words and fault < shares.no_complaint:
        fields[COMPLAINT] = ""
    elif len(words) > 1 and fault < shares.no_complaint + shares.cut_off:
        fields[COMPLAINT] = " ".join(words[: generator.randint(1, len(words) // 2)])
    return spoil_json(written(fields), generator)


def grammar(prompt: str) -> str:
    """Return the grammar of the answers to a prompt: its complaint is a quotation, but of no sensitive words.

    Line ends and control characters are blanks: the letter of an escape would count as one of a word.
    """
    printable = "".join(each if each.isprintable() else " " for each in review_of(prompt)[:MAX_READ])
    said = printable.split()
    alone = [
        is_sensitive(word) or (is_sensitive(f"{last} {word}") and not is_sensitive(last))
        for last, word in zip(["", *said], said, strict=False)
    ]
    runs = groupby(zip(alone, said, strict=True), itemgetter(0))
    parts = (" ".join(word for _, word in run) for singled, run in runs if not singled)
    reviews = [json.dumps(part, ensure_ascii=False)[1:-1] for part in parts if any(map(str.isalnum, part))]
    values = {name: f"%json {json.dumps(field)}" for name, field in _FIELDS.items()} | {COMPLAINT: "complaint"}
    fields = (f"{json.dumps(json.dumps(name) + ':')} {value}" for name, value in values.items())
    start = '"{" ' + ' "," '.join(fields) + ' "}"'
    if not reviews:
        return f'start: {start}\ncomplaint: "\\"\\""'
    words = rf"[\p{{L}}\p{{N}}]([^ ]*( [^ ]+){{0,{MOST_WORDS - 1}}})?"
    runs_of = [json.dumps({"substring_words": each}, ensure_ascii=False) for each in reviews]
    rules = (f"WORDS{place}: %regex {run} & /{words}/" for place, run in enumerate(runs_of))
    any_of = " | ".join(f"WORDS{place}" for place in range(len(reviews)))
    return "\n".join((f"start: {start}", f'complaint: "\\"" ({any_of})? "\\""', *rules))


def serve(completion: str, prompt: str) -> Served:
    """Return the ten fields, without a complaint that the review, or prompt, does not make; unchecked if two clash."""
    # A risk of text is read, and not sent.
    checks = {**READABLE, "churn_risk": lambda risk: type(risk) in (int, float) and 0 <= risk <= 1}
    served = serve_object(completion, checks)
    if served.text is None or not isinstance(served.parsed, dict):
        return served
    if (fault := fault_of(served.parsed[COMPLAINT], review_of(prompt) or prompt)) is not None:
        left = served.parsed | {COMPLAINT: ""}
        return Served(written(left), False, f"{COMPLAINT} omitido: {fault}", left)
    clash = contradiction_in(served.parsed)
    return served._replace(checked=False, reason=f"campos que se contradizem: {clash}") if clash else served


TASK: Final = CommerceTask(
    name="extraction",
    description=described(__doc__),
    inputs=ReviewInputs,
    answer=answer,
    rewards={"grounded": REWARD, "v4.2": V42_REWARD},
    metric=metric,
    answer_metrics=("field_f1", "complaint", "exact"),
    content=frozenset({"values"}),
    faults=spoil,
    answers_in_json=True,
    serve=lambda completion, prompt, _: serve(completion, prompt),
    schema=object_schema(_FIELDS | {COMPLAINT: _QUOTATION}),
    prompt_grammar=grammar,
)
