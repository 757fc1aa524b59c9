"""Completions at the bounds and steps that a reward's documentation names, whose grades are known: the anchors.

Each is the right answer with one change; it is left out where the prompt's answer does not permit exactly that one.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from tasks.audit.completions.asked import Asked, Completions
from tasks.audit.completions.json_objects import SHARES, fields_of, other_value
from tasks.audit.completions.prose import PADDING

Fields = Mapping[str, Any]

LONGEST_ANSWER: Final = 4_000
LONGEST_COMPLETION: Final = 100_000
BRACKETS: Final = 32
STARTS: Final = 8
LONGEST_NUMBER: Final = 24
FUNCTION_CALLS: Final = (
    ("abs(1)", "ceil(1)", "ceiling(1)", "coalesce(1, 2)", "floor(1)", "ifnull(1, 2)", "iif(1, 2, 3)", "round(1)"),
    ("mod(3, 2)", "nullif(1, 2)", "sign(1)", "typeof(1)", "(SELECT total(1))", "(SELECT max(1))", "(SELECT min(1))"),
    (
        "glob('a', 'b')",
        "instr('a', 'b')",
        "length('a')",
        "like('a', 'b')",
        "lower('a')",
        "ltrim('a')",
        "replace('a', 'b', 'c')",
    ),
    ("rtrim('a')", "substr('abc', 1)", "substring('abc', 1)", "trim('a')", "upper('a')", "(SELECT group_concat('a'))"),
    ("date('2018-01-01')", "time('2018-01-01')", "datetime('2018-01-01')", "julianday('2018-01-01')"),
    ("strftime('%Y', '2018-01-01')", "unixepoch('2018-01-01')", "printf('%.2f', 1)", "format('%d', 1)"),
    ("(SELECT sum(1))", "(SELECT avg(1))", "(SELECT count(1))", "(SELECT row_number() OVER ())"),
    ("(SELECT rank() OVER (ORDER BY 1))", "(SELECT dense_rank() OVER (ORDER BY 1))", "(SELECT ntile(2) OVER ())"),
    ("(SELECT lag(1) OVER ())", "(SELECT lead(1) OVER ())", "(SELECT first_value(1) OVER ())"),
    ("(SELECT last_value(1) OVER ())", "(SELECT nth_value(1, 1) OVER ())", "(SELECT percent_rank() OVER ())"),
    ("(SELECT cume_dist() OVER ())",),
)
"""Calls of every function that a query may use."""
INVENTED_COMPLAINT: Final = "frete caro"
MANY_ORDERS: Final = 3
_ORDERS: Final = re.compile(r"^Pedidos: (\d+)$", re.MULTILINE | re.ASCII)


def json_forms(asked: Asked) -> Completions:
    """Return the right object in each notation that costs, and at each bound of what is read."""
    right, fields = asked.right, fields_of(asked.right)
    first = right[1 : right.index(":")] + ":" + json.dumps(next(iter(fields.values())), ensure_ascii=False)
    wrong = _written({name: other_value(name, value) for name, value in fields.items()})
    found = {
        "spaces at both ends": f" \n{right}\n ",
        "code fence": f"```json\n{right}\n```",
        "thought": f"<think>Vou ler.</think>\n{right}",
        "thought without end": f"<think>{right}",
        "as much text as object": f"{_filler(len(right) - 1)}\n{right}",
        "2,400 characters around": f"{_filler(2_399)}\n{right}",
        "800 characters around": f"{_filler(799)}\n{right}",
        "key repeated": f"{right[:-1]},{first}}}",
        "without the last brace": right[:-1],
        "trailing comma": f"{right[:-1]},}}",
        "object twice": f"{right}\n{right}",
        "another object after it": f"{right}\n{wrong}",
        "all null": _written(dict.fromkeys(fields)),
        "longest answer": _padded(right, LONGEST_ANSWER),
        "one character more than the longest answer": _padded(right, LONGEST_ANSWER + 1),
        "longest completion": right + " " * (LONGEST_COMPLETION - len(right)),
        "one character more than the longest completion": right + " " * (LONGEST_COMPLETION + 1 - len(right)),
        "most brackets": _written({**fields, "x": _nested(BRACKETS - 1)}),
        "one bracket more than most": _written({**fields, "x": _nested(BRACKETS)}),
        "most braces before": "{ " * (STARTS - 1) + right,
        "one brace more than most before": "{ " * STARTS + right,
        "one field too many": _written({**fields, "idioma": "pt"}),
    }
    share = next((name for name in SHARES if name in fields), None)
    known = asked.reference.get("fields")
    if share and (known is None or known.get(share) is not None):
        digits = f"{fields[share]:.2f}".replace(".", ",")
        for kind, length in (("longest number", LONGEST_NUMBER), ("one digit more than the longest number", 25)):
            found[kind] = _written({**fields, share: digits.ljust(length, "0")})
    return found


def sentiment_steps(asked: Asked) -> Completions:
    """Return the right object with polarity or stars so many steps off."""
    fields = fields_of(asked.right)
    polarity, stars = fields["polarity"], fields["score"]
    down = 1 if stars > 3 or (stars == 3 and polarity == "neutral") else -1
    found = {f"stars off by {steps}": {**fields, "score": stars - down * steps} for steps in (1, 2)}
    if polarity != "neutral":
        opposite = "negative" if polarity == "positive" else "positive"
        found["neutral instead"] = {**fields, "polarity": "neutral"}
        found["the opposite polarity"] = {**fields, "polarity": opposite}
        found["the opposite stars"] = {**fields, "score": 6 - stars}
        found["both opposite"] = {"polarity": opposite, "score": 6 - stars}
    else:
        found["positive for neutral"] = {"polarity": "positive", "score": 3}
        found["negative for neutral"] = {"polarity": "negative", "score": 3}
        found["neutral with most stars"] = {**fields, "score": 5}
    found["one field of the wrong type"] = {**fields, "score": str(stars)}
    return {kind: _written(each) for kind, each in found.items() if each["score"] not in range(-9, 1)}


def extraction_steps(asked: Asked) -> Completions:
    """Return the right object with one error of each kind; nothing where the reference leaves a field unknown."""
    fields = fields_of(asked.right)
    known = asked.reference["fields"] or {}
    if any(known.get(name) is None for name in fields):
        return {}
    changes = {kind: change(fields) for kind, change in _ERRORS.items()}
    found = {kind: _written({**fields, **change}) for kind, change in changes.items() if change}
    lesser = {name: value for name, value in fields.items() if name != "repeat_intent"}
    return found | {"one field missing, one of the wrong type": _written({**lesser, "would_recommend": "sim"})}


def churn_steps(asked: Asked) -> Completions:
    """Return the right object with another risk or answer, and with reasons of lengths at the bounds."""
    fields = fields_of(asked.right)
    churned = bool(asked.reference["churn"])
    toward = 1 if churned else -1
    found: dict[str, Fields] = {
        "a risk in the middle": {**fields, "risk_score": 0.5},
        "a certain risk": {**fields, "risk_score": float(churned)},
        "a risk past the middle": {**fields, "risk_score": 0.5 + 0.01 * toward},
        "a risk short of the middle": {**fields, "risk_score": 0.5 - 0.01 * toward},
        "the certain opposite": {**fields, "churn": not churned, "risk_score": float(not churned)},
        "one field of the wrong type": {**fields, "reasoning": 3},
        "a conclusion alone": fields,
        "no answer": {**fields, "churn": "sim"},
        "a reason of 330 characters": {**fields, "reasoning": fields["reasoning"].ljust(330)},
        "a reason of 440 characters": {**fields, "reasoning": fields["reasoning"].ljust(440)},
    }
    orders = _ORDERS.search(asked.prompt)
    # Few orders speak for leaving and many against it: beside the other answer they would be half a contradiction.
    if orders and (int(orders[1]) < MANY_ORDERS) == churned:
        said = f"{fields['reasoning'].rstrip('.')}, com {orders[1]} {'pedido' if orders[1] == '1' else 'pedidos'}."
        found["a reason with a number of the profile"] = {**fields, "reasoning": said}
    return {kind: _written(each) for kind, each in found.items()}


def _stars_off(steps: int) -> Callable[[Fields], Fields]:
    def change(fields: Fields) -> Fields:
        stars = fields["sentiment_score"]
        toward = -1 if stars >= 4 else 1
        return {"sentiment_score": stars + toward * steps} if fields["sentiment"] != "neutral" else {}

    return change


def _risk_off(distance: float) -> Callable[[Fields], Fields]:
    def change(fields: Fields) -> Fields:
        risk = fields["churn_risk"]
        # Towards the end that the sentiment goes with, so that nothing is contradicted.
        other = risk + (distance if fields["sentiment"] == "negative" else -distance)
        return {"churn_risk": round(other, 4)} if 0 <= other <= 1 and fields["sentiment"] != "neutral" else {}

    return change


def _risk_to_the_middle(fields: Fields) -> Fields:
    risk = fields["churn_risk"]
    other = risk - 0.275 if risk > 0.5 else risk + 0.275
    return {"churn_risk": round(other, 4)} if 0.3 < other < 0.7 else {}


def _issue_denied(fields: Fields) -> Fields:
    name = f"{fields['complaint_category']}_issue"
    return {name: False} if fields.get(name) is True else {}


def _issue_invented(fields: Fields) -> Fields:
    return {"product_issue": True} if fields["complaint_category"] == "none" else {}


def _complaint(text: str) -> Callable[[Fields], Fields]:
    return lambda fields: {"main_complaint": text} if bool(fields["main_complaint"]) != bool(text) else {}


def _another_complaint(fields: Fields) -> Fields:
    text = "preço alto" if fields["main_complaint"] != "preço alto" else "embalagem ruim"
    return {"main_complaint": text} if fields["main_complaint"] else {}


def _another_category(fields: Fields) -> Fields:
    return {"complaint_category": "price"} if fields["complaint_category"] == "other" else {}


def _opposite_sentiment(fields: Fields) -> Fields:
    plain = fields["churn_risk"] <= 0.3 if fields["sentiment"] == "positive" else fields["churn_risk"] >= 0.7
    other = {"positive": "negative", "negative": "positive"}.get(fields["sentiment"])
    agree = fields["repeat_intent"] == fields["would_recommend"] == (fields["sentiment"] == "positive")
    return {"sentiment": other} if other and plain and agree and fields["sentiment_score"] != 3 else {}


def _opposite_stars(fields: Fields) -> Fields:
    stars = fields["sentiment_score"]
    return {"sentiment_score": 6 - stars} if fields["sentiment"] != "neutral" and stars in (1, 5) else {}


def _intention(name: str) -> Callable[[Fields], Fields]:
    def change(fields: Fields) -> Fields:
        usual = fields["sentiment"] == "positive"
        agrees = fields["sentiment"] != "neutral" and fields[name] is usual
        return {name: not usual} if agrees else {}

    return change


def _lengthened_complaint(characters: int) -> Callable[[Fields], Fields]:
    def change(fields: Fields) -> Fields:
        text = fields["main_complaint"]
        return {"main_complaint": text.ljust(characters)} if text else {}

    return change


def _no_risk(fields: Fields) -> Fields:
    return {"churn_risk": 0.0} if fields["churn_risk"] == 0.1 and fields["sentiment"] == "positive" else {}


_ERRORS: Final[Mapping[str, Callable[[Fields], Fields]]] = {
    "stars off by 1": _stars_off(1),
    "risk off by the tolerance": _risk_off(0.05),
    "risk off by 0.275": _risk_to_the_middle,
    "complaint left out": lambda fields: {"main_complaint": ""} if fields["main_complaint"] else {},
    "complaint invented": _complaint(INVENTED_COMPLAINT),
    "another complaint": _another_complaint,
    "complaint denied": lambda fields: (
        {"main_complaint": f"não houve {fields['main_complaint']}"} if fields["main_complaint"] else {}
    ),
    "complaint of 100 characters": _lengthened_complaint(100),
    "complaint of 150 characters": _lengthened_complaint(150),
    "no risk for a small one": _no_risk,
    "issue of the category denied": _issue_denied,
    "issue without a complaint": _issue_invented,
    "another category": _another_category,
    "the opposite sentiment": _opposite_sentiment,
    "the opposite stars": _opposite_stars,
    "repeat_intent turned": _intention("repeat_intent"),
    "would_recommend turned": _intention("would_recommend"),
}


def sql_forms(asked: Asked) -> Completions:
    """Return the right query in each form that costs."""
    query = asked.right.rstrip().removesuffix(";")
    question = asked.prompt.rpartition("\n")[2]
    # A semicolon in a comment ends the statement for whoever looks for its end.
    commented = {} if ";" in question else {"the question as a comment": f"{query} -- {question}"}
    return (
        commented
        | {
            "code fence": f"```sql\n{query}\n```",
            "fence with a semicolon": f"```\n{query};\n```",
            "as much text as query": f"{_filler(len(query) - 1)}\n{query}",
            "a line of prose after it": f"{query}\n\nA consulta acima responde bem.",
            "a comment of its own": f"{query} -- o gato dorme tranquilo",
            "each row twice": f"SELECT * FROM (\n{query}\n) UNION ALL SELECT * FROM (\n{query}\n)",  # noqa: S608
            "two statements": f"{query}; SELECT 1",
            "longest query": query + " " + "/*" + " " * (1_000 - len(query) - 5) + "*/",
            "a comment before it": f"/* consulta */ {query}",
        }
        | {f"functions {place}": _with_conditions(query, calls) for place, calls in enumerate(FUNCTION_CALLS, 1)}
    )


def with_columns(asked: Asked, columns: int, chosen: str) -> str:
    """Return the right query inside another that chooses from its columns, which are named `c1`, `c2` and so on."""
    query = asked.right.rstrip().removesuffix(";")
    names = ", ".join(f"c{place}" for place in range(1, columns + 1))
    return f"WITH q({names}) AS (\n{query}\n) SELECT {chosen} FROM q"  # noqa: S608 - only the sandbox runs it


def _with_conditions(query: str, calls: tuple[str, ...]) -> str:
    conditions = " OR ".join(f"{call} IS NULL" for call in calls)
    return f"SELECT * FROM (\n{query}\n) WHERE 1 OR {conditions}"  # noqa: S608 - likewise


def _filler(characters: int) -> str:
    text = "".join(letter for letter in PADDING if letter.isalpha() or letter == " ")
    return (text * (characters // len(text) + 1))[: max(characters, 1)].strip().ljust(characters, "a")


def _padded(right: str, characters: int) -> str:
    return right[:-1] + " " * (characters - len(right)) + "}"


def _nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def _written(fields: Fields) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
