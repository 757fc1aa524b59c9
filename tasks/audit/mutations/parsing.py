"""Bugs of the code shared by all JSON answers: the parser and the checks of fields."""

from typing import Final

from schemas.tasks import TaskName
from tasks.audit.mutations.breaking import Mutant, edit, replace_entry
from tasks.commerce.text.parser import FORM, TRUST, Reading

JSON_TASKS: Final[tuple[TaskName, ...]] = ("extraction", "sentiment", "churn")

PARSING: Final = (
    Mutant(
        "no decimal comma",
        "A bare 4,5 is not read as a number, so that the whole object has to be repaired (V4.2 report, V4).",
        ("extraction", "churn"),
        (edit("text.parser:_json_number", ('read_number(match["number"])', "None")),),
    ),
    Mutant(
        "decimal comma as thousands",
        "The comma in 0,8 is taken for the one between English thousands.",
        ("extraction", "churn"),
        (edit("text.json_fields:read_number", ('float(digits.replace(",", "."))', 'float(digits.replace(",", ""))')),),
    ),
    Mutant(
        "percent as a whole number",
        "80% is read as 80.",
        ("extraction", "churn"),
        (edit("text.json_fields:read_number", ('number / 100 if written["percent"] else number', "number")),),
    ),
    Mutant(
        "parser accepts anything",
        "Whatever was repaired, surrounded or contradictory counts as strict JSON, and no object as an empty one.",
        JSON_TASKS,
        (
            edit(
                "text.parser:parse_object",
                (
                    "found._replace(needed=found.needed | needed) if found else NOTHING",
                    "found._replace(needed=STRICT, padding=0) if found else ParsedObject({}, STRICT, 0, 0)",
                ),
            ),
        ),
    ),
    Mutant(
        "strict JSON only",
        "An object in a code fence, with chatter or with one wrong quote counts as no object (binary form).",
        JSON_TASKS,
        (
            edit(
                "text.parser:parse_object",
                ("_strict(text) or _fenced(text) or _surrounded(text) or _repaired(text)", "_strict(text)"),
            ),
        ),
    ),
    Mutant(
        "repair not capped",
        "A repaired object counts as much as a valid one.",
        JSON_TASKS,
        (
            replace_entry(FORM, Reading.REPAIRED, lambda _: 1.0),
            replace_entry(TRUST, Reading.REPAIRED, lambda _: 1.0),
        ),
    ),
    Mutant(
        "truncation paid",
        "An object that was cut off and closed by the repair counts as a whole one.",
        JSON_TASKS,
        (edit("text.parser:_repaired", ("needed.add(Reading.UNFINISHED)", "needed.clear()")),),
    ),
    Mutant(
        "first object taken",
        "Of several objects the first is taken, and what the others say is not looked at.",
        JSON_TASKS,
        (edit("text.parser:_surrounded", ("needed |= _comparison(answer.value or {}, found.value)", "pass")),),
    ),
    Mutant(
        "repeated keys unseen",
        "A key that is there twice passes in silence, as JSON parsers let it.",
        JSON_TASKS,
        (edit("text.parser:_strict", ('STRICT if text.count(":") == len(value) else _repetition(text)', "STRICT")),),
    ),
    Mutant(
        "chatter around JSON is free",
        "The form of an object does not depend on the text around it.",
        JSON_TASKS,
        (
            edit(
                "text.parser:ParsedObject.cleanliness",
                (
                    "min(FORM[reading] for reading in self.needed) * share",
                    "min([1.0, *(FORM[reading] for reading in self.needed if reading is not Reading.SURROUNDED)])",
                ),
            ),
        ),
    ),
    Mutant(
        "boolean as integer",
        "true counts as the integer 1 where stars are asked for (V4.2 report, hotfix V4.2.1).",
        ("extraction", "sentiment"),
        (edit("text.json_fields:is_stars", (" and not isinstance(value, bool)", "")),),
    ),
    Mutant(
        "stars may be broken",
        "4.5 passes for a whole number of stars.",
        ("extraction", "sentiment"),
        (edit("text.json_fields:is_stars", ("isinstance(value, int) and", "isinstance(value, int | float) and")),),
    ),
    Mutant(
        "stars counted from 0",
        "Stars are checked as 0 to 4, so that five of them are none.",
        ("extraction", "sentiment"),
        (edit("text.json_fields:is_stars", ("1 <= value <= 5", "0 <= value <= 4")),),
    ),
    Mutant(
        "text as boolean",
        '"true" and "sim" in quotes pass for booleans.',
        ("extraction", "churn"),
        (
            edit(
                "text.json_fields:is_boolean",
                ("value is True or value is False", 'value in (True, False, "true", "false", "sim", "não")'),
            ),
        ),
    ),
    Mutant(
        "share without bounds",
        "A risk of 7 passes for a number from 0 to 1.",
        ("extraction", "churn"),
        (
            edit(
                "text.json_fields:read_share", ("number if number is not None and 0 <= number <= 1 else None", "number")
            ),
        ),
    ),
    Mutant(
        "any word is a sentiment",
        "The enumeration of sentiments is not checked.",
        ("extraction",),
        (edit("text.json_fields:is_sentiment", (" and value in SENTIMENTS", "")),),
    ),
)
