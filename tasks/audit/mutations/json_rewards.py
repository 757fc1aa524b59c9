"""Bugs of extraction, sentiment and churn."""

from typing import Final

from tasks.audit.mutations.breaking import Mutant, edit, replace_entry
from tasks.commerce.extraction import scorer as extraction

_KNOWN: Final = "if value is not None"
_SWAPPED: Final = {"delivery_issue": "product_issue", "product_issue": "delivery_issue"}

EXTRACTION: Final = (
    Mutant(
        "extraction: reference ignored",
        "Values are not compared with the reference: form and types alone are paid.",
        ("extraction",),
        (
            edit(
                "extraction.scorer:score",
                ("_values(readable, reference, review_in(prompt)) if reference else None", "None"),
            ),
        ),
    ),
    Mutant(
        "extraction: booleans inverted",
        "A boolean agrees where it differs, unless the whole object is right.",
        ("extraction",),
        (
            edit(
                "extraction.scorer:_values",
                ("1.0 if found(name) == value", "1.0 if (found(name) == value) != isinstance(value, bool)"),
            ),
        ),
    ),
    Mutant(
        "extraction: fields swapped",
        "delivery_issue is read into product_issue and the other way round.",
        ("extraction",),
        (
            edit(
                "extraction.scorer:score",
                (
                    "parsed.value or {}",
                    f"{{{_SWAPPED}.get(name, name): value for name, value in (parsed.value or {{}}).items()}}",
                ),
            ),
        ),
    ),
    Mutant(
        "extraction: a field forgotten",
        "would_recommend is compared with nothing.",
        ("extraction",),
        (edit("extraction.scorer:_values", (_KNOWN, f'{_KNOWN} and name != "would_recommend"')),),
    ),
    Mutant(
        "extraction: any complaint will do",
        "A complaint agrees with any other complaint.",
        ("extraction",),
        (
            edit(
                "extraction.complaints:same_complaint",
                ("    kept = ramp", "    return 1.0\n    kept = ramp"),
            ),
        ),
    ),
    Mutant(
        "extraction: narrow list of complaints",
        "A complaint in other words than the reference's is wrong.",
        ("extraction",),
        (edit("extraction.complaints:same_complaint", ("OTHER_WORDS if wanted in named else 0.0", "0.0")),),
    ),
    Mutant(
        "extraction: missing fields are free",
        "Values are averaged over the fields that the answer gives.",
        ("extraction",),
        (edit("extraction.scorer:_values", (_KNOWN, f"{_KNOWN} and found(name) is not None")),),
    ),
    Mutant(
        "extraction: unknown counts as wrong",
        "Values are averaged over all ten fields, whether the reference knows them or not.",
        ("extraction",),
        (edit("extraction.scorer:_values", ("total / len(agreements)", "total / len(READABLE)")),),
    ),
    Mutant(
        "extraction: mismatch not punished",
        "A sentiment that contradicts the rating halves nothing.",
        ("extraction",),
        (edit("extraction.scorer:_values", ("0.5 if contradicts else 1.0", "1.0")),),
    ),
    Mutant(
        "extraction: format echo paid",
        "Names of fields count in full, whatever the fields hold.",
        ("extraction",),
        (
            edit(
                "extraction.scorer:score",
                ("sense = 0.25 + 0.75 * types", "sense = 1.0"),
                ("FORM_ALONE + (1 - FORM_ALONE) * values", "1.0"),
            ),
        ),
    ),
    Mutant(
        "extraction: sign flipped",
        "Values earn by their distance from the reference.",
        ("extraction",),
        (edit("extraction.scorer:score", ("else trust * values,", "else trust * (1 - values),")),),
    ),
    Mutant(
        "extraction: keys in order",
        "A key counts as present only in the place that the specification lists it in.",
        ("extraction",),
        (
            edit(
                "extraction.scorer:score",
                (
                    "len(READABLE) if len(readable) == len(READABLE) else sum(map(fields.__contains__, READABLE))",
                    "sum(map(str.__eq__, fields, READABLE))",
                ),
            ),
        ),
    ),
    Mutant(
        "extraction: scale of 2",
        "The reward goes up to 2 while the other tasks' go up to 1 (investigation report, 3.8).",
        ("extraction",),
        (edit("reward:Reward.total", ("min(max(total, 0.0), 1.0)", "2 * total")),),
    ),
    Mutant(
        "extraction: weights swapped",
        "The form has the weight of the values and is paid whatever these are, and the values have that of the form.",
        ("extraction",),
        (
            edit("extraction.scorer:score", ("FORM_ALONE + (1 - FORM_ALONE) * values", "1.0")),
            replace_entry(extraction.WEIGHTS, "json", lambda _: 0.65),
            replace_entry(extraction.WEIGHTS, "values", lambda _: 0.12),
        ),
    ),
)

SENTIMENT: Final = (
    Mutant(
        "sentiment: fields swapped",
        "Polarity and score are read from each other's field.",
        ("sentiment",),
        (
            edit(
                "sentiment.scorer:score",
                ('fields.get("polarity"), fields.get("score")', 'fields.get("score"), fields.get("polarity")'),
            ),
        ),
    ),
    Mutant(
        "sentiment: neighbours are right",
        "Neutral counts as right for positive and negative.",
        ("sentiment",),
        (edit("sentiment.scorer:_polarity_agreement", ("(1.0, 0.2, 0.0)", "(1.0, 1.0, 0.0)")),),
    ),
    Mutant(
        "sentiment: stars off by one",
        "Stars are compared with the reference's, counted from 0.",
        ("sentiment",),
        (
            edit(
                "sentiment.scorer:score",
                ("_stars_agreement(stars, true_stars)", "_stars_agreement(stars, true_stars - 1)"),
            ),
        ),
    ),
    Mutant(
        "sentiment: distance without sign",
        "Too few stars are as good as the right ones, because abs was forgotten.",
        ("sentiment",),
        (edit("sentiment.scorer:_stars_agreement", ("abs(found - wanted)", "found - wanted")),),
    ),
    Mutant(
        "sentiment: contradiction is free",
        "Praise with one star keeps what its right half earns.",
        ("sentiment",),
        (edit("sentiment.scorer:score", ("CONTRADICTED if contradicts else 1.0", "1.0")),),
    ),
)

CHURN: Final = (
    Mutant(
        "churn: answer inverted",
        "The answer is paid where it is not the shopper's fate.",
        ("churn",),
        (edit("churn.scorer:score", ("churn is churned", "churn is not churned")),),
    ),
    Mutant(
        "churn: risk inverted",
        "The risk is taken for the chance that the shopper stays.",
        ("churn",),
        (edit("churn.scorer:_risk", ("max(risk, least)", "max(1 - risk, least)")),),
    ),
    Mutant(
        "churn: contradiction is free",
        "A loyal shopper at high risk keeps what the right half earns.",
        ("churn",),
        (edit("churn.scorer:score", ("CONTRADICTED if contradicts else 1.0", "1.0")),),
    ),
    Mutant(
        "churn: any reason",
        "Every text is a reason.",
        ("churn",),
        (
            edit(
                "churn.reasons:grade_reason",
                ("    text = reason[", "    return Grade(1.0, 1.0)\n    text = reason["),
            ),
        ),
    ),
    Mutant(
        "churn: invented numbers are free",
        "A reason may name numbers that the profile does not hold.",
        ("churn",),
        (
            edit("churn.claims:_number_holds", ("    groups = match", "    return True\n    groups = match")),
            edit("churn.word_notes:_kind", ("not word.isalpha() or ", "")),
            edit("churn.scopes:_since_the_last", ("    other = ", "    return True\n    other = ")),
        ),
    ),
    Mutant(
        "churn: endless reasons",
        "A reason has no largest length.",
        ("churn",),
        (edit("churn.reasons:_form", ("ramp(len(text), TOO_LONG, LONGEST)", "1.0")),),
    ),
)
