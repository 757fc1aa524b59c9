"""Bugs that were made, or that somebody may make, in what decides the rewards; each is planted in the source.

A few words of a function are replaced, and the compiled result takes the place of its code, so that every holder of the
function runs the bug. A bug that no longer matches the source is an error, never skipped.
"""

import inspect
import random
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from types import CodeType, FunctionType
from typing import Any, Final, cast

from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS, reward_of
from tasks.commerce.reward import Reference, Score, Scorer
from tasks.commerce.sql_qa import query_text
from tasks.commerce.sql_qa import scorer as sql_qa
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.text.parser import FORM, TRUST, Reading

PACKAGE: Final = "tasks.commerce."
Plant = Callable[[], AbstractContextManager[None]]
"""Context manager that applies a bug while it is open."""


@dataclass(frozen=True)
class Bug:
    """A bug of some tasks' rewards."""

    name: str
    broken: str
    tasks: tuple[TaskName, ...]
    plants: tuple[Plant, ...]

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Apply the bug; the rewards' caches are cleared before and after."""
        with ExitStack() as planted:
            planted.callback(forget)
            for plant in self.plants:
                planted.enter_context(plant())
            forget()
            yield


def edit(function: str, *changes: tuple[str, str]) -> Plant:
    """Replace words in a function's source.

    Args:
        function: Module and name, such as `extraction.scorer:score` or `reward:Reward.total`.
        changes: Text that occurs in the source exactly once, and its replacement with the bug.

    Raises:
        LookupError: On applying, if the source does not contain each text exactly once.
    """

    @contextmanager
    def planted() -> Iterator[None]:
        found = _function(function)
        whole = found.__code__
        found.__code__ = _edited(found, function, changes)
        try:
            yield
        finally:
            found.__code__ = whole

    return planted


def replace_attribute(owner: object, name: str, change: Callable[[Any], Any]) -> Plant:
    """Replace the value of a module's or an object's attribute."""

    @contextmanager
    def planted() -> Iterator[None]:
        whole = getattr(owner, name)
        setattr(owner, name, change(whole))
        try:
            yield
        finally:
            setattr(owner, name, whole)

    return planted


def replace_entry(mapping: Mapping[Any, Any], key: object, change: Callable[[Any], Any]) -> Plant:
    """Replace the value of a mapping's entry; the order of its keys stays."""

    @contextmanager
    def planted() -> Iterator[None]:
        # A read-only mapping is still a dict at run time.
        entries = cast("MutableMapping[Any, Any]", mapping)
        whole = entries[key]
        entries[key] = change(whole)
        try:
            yield
        finally:
            entries[key] = whole

    return planted


def wrap(task: TaskName, around: Callable[[Scorer], Scorer]) -> Plant:
    """Wrap a task's scoring function for all its callers."""
    return replace_entry(TASKS[task].rewards, "grounded", lambda reward: replace(reward, score=around(reward.score)))


def forget() -> None:
    """Clear the caches of the rewards' modules, which hold results of the mutated reward."""
    for name, module in list(sys.modules.items()):
        if name.startswith(PACKAGE):
            for value in vars(module).values():
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()


def _function(name: str) -> FunctionType:
    found = resolve_name(f"{PACKAGE}{name}")
    if isinstance(found, property):
        found = found.fget
    return cast("FunctionType", inspect.unwrap(found))


def _edited(function: FunctionType, name: str, changes: tuple[tuple[str, str], ...]) -> CodeType:
    source = textwrap.dedent(inspect.getsource(function))
    for whole, broken in changes:
        if source.count(whole) != 1:
            raise LookupError(f"{name} has not `{whole}` once; plant the bug where the code is now")
        source = source.replace(whole, broken)
    module = compile(source, f"<{name}, broken>", "exec")
    return next(
        code for code in module.co_consts if isinstance(code, CodeType) and code.co_name == function.__code__.co_name
    )


PARSING: Final = (
    Bug(
        "no decimal comma",
        "A bare 4,5 is not read as a number, so that the whole object has to be repaired (V4.2 report, V4).",
        ("extraction",),
        (edit("text.parser:_json_number", ('read_number(match["number"])', "None")),),
    ),
    Bug(
        "decimal comma as thousands",
        "The comma in 0,8 is taken for the one between English thousands.",
        ("extraction",),
        (edit("text.json_fields:read_number", ('float(digits.replace(",", "."))', 'float(digits.replace(",", ""))')),),
    ),
    Bug(
        "percent as a whole number",
        "80% is read as 80.",
        ("extraction",),
        (edit("text.json_fields:read_number", ('number / 100 if written["percent"] else number', "number")),),
    ),
    Bug(
        "parser accepts anything",
        "Whatever was repaired, surrounded or contradictory counts as strict JSON, and no object as an empty one.",
        ("sentiment",),
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
    Bug(
        "strict JSON only",
        "An object in a code fence, with chatter or with one wrong quote counts as no object (binary form).",
        ("sentiment",),
        (
            edit(
                "text.parser:parse_object",
                ("_strict(text) or _fenced(text) or _surrounded(text) or _repaired(text)", "_strict(text)"),
            ),
        ),
    ),
    Bug(
        "repair not capped",
        "A repaired object counts as much as a valid one.",
        ("sentiment",),
        (
            replace_entry(FORM, Reading.REPAIRED, lambda _: 1.0),
            replace_entry(TRUST, Reading.REPAIRED, lambda _: 1.0),
        ),
    ),
    Bug(
        "truncation paid",
        "An object that was cut off and closed by the repair counts as a whole one.",
        ("sentiment",),
        (edit("text.parser:_repaired", ("needed.add(Reading.UNFINISHED)", "needed.clear()")),),
    ),
    Bug(
        "first object taken",
        "Of several objects the first is taken, and what the others say is not looked at.",
        ("sentiment",),
        (edit("text.parser:_surrounded", ("needed |= _comparison(answer.value or {}, found.value)", "pass")),),
    ),
    Bug(
        "repeated keys unseen",
        "A key that is there twice passes in silence, as JSON parsers let it.",
        ("sentiment",),
        (edit("text.parser:_strict", ('STRICT if text.count(":") == len(value) else _repetition(text)', "STRICT")),),
    ),
    Bug(
        "chatter around JSON is free",
        "The form of an object does not depend on the text around it.",
        ("sentiment",),
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
    Bug(
        "boolean as integer",
        "true counts as the integer 1 where stars are asked for (V4.2 report, hotfix V4.2.1).",
        ("extraction", "sentiment"),
        (edit("text.json_fields:is_stars", (" and not isinstance(value, bool)", "")),),
    ),
    Bug(
        "stars may be broken",
        "4.5 passes for a whole number of stars.",
        ("extraction", "sentiment"),
        (edit("text.json_fields:is_stars", ("isinstance(value, int) and", "isinstance(value, int | float) and")),),
    ),
    Bug(
        "stars counted from 0",
        "Stars are checked as 0 to 4, so that five of them are none.",
        ("extraction", "sentiment"),
        (edit("text.json_fields:is_stars", ("1 <= value <= 5", "0 <= value <= 4")),),
    ),
    Bug(
        "text as boolean",
        '"true" and "sim" in quotes pass for booleans.',
        ("extraction",),
        (
            edit(
                "text.json_fields:is_boolean",
                ("value is True or value is False", 'value in (True, False, "true", "false", "sim", "não")'),
            ),
        ),
    ),
    Bug(
        "share without bounds",
        "A risk of 7 passes for a number from 0 to 1.",
        ("extraction",),
        (
            edit(
                "text.json_fields:read_share", ("number if number is not None and 0 <= number <= 1 else None", "number")
            ),
        ),
    ),
    Bug(
        "any word is a sentiment",
        "The enumeration of sentiments is not checked.",
        ("extraction",),
        (edit("text.json_fields:is_sentiment", (" and value in SENTIMENTS", "")),),
    ),
)


SENTIMENT: Final = (
    Bug(
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
    Bug(
        "sentiment: neighbours are right",
        "Neutral counts as right for positive and negative.",
        ("sentiment",),
        (edit("sentiment.scorer:_polarity_agreement", ("(1.0, 0.2, 0.0)", "(1.0, 1.0, 0.0)")),),
    ),
    Bug(
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
    Bug(
        "sentiment: distance without sign",
        "Too few stars are as good as the right ones, because abs was forgotten.",
        ("sentiment",),
        (edit("sentiment.scorer:_stars_agreement", ("abs(found - wanted)", "found - wanted")),),
    ),
    Bug(
        "sentiment: contradiction is free",
        "Praise with one star keeps what its right half earns.",
        ("sentiment",),
        (edit("sentiment.scorer:score", ("CONTRADICTED if contradicts else 1.0", "1.0")),),
    ),
)


_COMPARED: Final = "    if found.rows == wanted.rows:"

SQL: Final = (
    Bug(
        "sql_qa: likeness for execution",
        "A query is right as far as its words are the reference's, whatever comes of it.",
        ("sql_qa",),
        (
            edit(
                "sql_qa.scorer:score",
                ("result_agreement(executions, wanted, reference_sql)", "f1(words(sql), words(reference_sql))"),
            ),
        ),
    ),
    Bug(
        "sql_qa: one store",
        "Results are compared on the first copy of the store only.",
        ("sql_qa",),
        (edit("sql_qa.scorer:_counted", ("strict=True))", "strict=True))[:1]")),),
    ),
    Bug(
        "sql_qa: the best store counts",
        "Of the copies of the store the one counts on which the query does best.",
        ("sql_qa",),
        (edit("sql_qa.scorer:result_agreement", ("return min(", "return max(")),),
    ),
    Bug(
        "sql_qa: order ignored",
        "The rows may come in any order, also where the question asks for one.",
        ("sql_qa",),
        (edit("sql_qa.scorer:result_agreement", ("is_ordered(reference_sql)", "False")),),
    ),
    Bug(
        "sql_qa: errors are full marks",
        "A query that does not run is compared with nothing, and nothing differs.",
        ("sql_qa",),
        (edit("sql_qa.results:agreement", ("return 0.0", "return 1.0")),),
    ),
    Bug(
        "sql_qa: any valid query is paid",
        "Form and validity count whatever the query is about.",
        ("sql_qa",),
        (
            edit(
                "sql_qa.scorer:score",
                ('"form": kept * found_form * uses,', '"form": found_form,'),
                ('"valid": kept * valid * uses,', '"valid": valid,'),
            ),
        ),
    ),
    Bug(
        "sql_qa: reference ignored",
        "Every query that reads the store is right, as if the reference were unknown.",
        ("sql_qa",),
        (edit("sql_qa.scorer:score", ("if wanted is None:", "if True:")),),
    ),
    Bug(
        "sql_qa: rounding demanded",
        "A result that is not rounded as the reference's is wrong.",
        ("sql_qa",),
        (edit("sql_qa.results:_same_cell", ("abs_tol=TOLERANCE", "abs_tol=0.0")),),
    ),
    Bug(
        "sql_qa: first row only",
        "Of a result the first row alone is compared.",
        ("sql_qa",),
        (
            edit(
                "sql_qa.results:agreement",
                (
                    _COMPARED,
                    "    found, wanted = replace(found, rows=found.rows[:1]), replace(wanted, rows=wanted.rows[:1])\n"
                    + _COMPARED,
                ),
            ),
        ),
    ),
    Bug(
        "sql_qa: repeated rows are free",
        "Results are compared as sets, so that a join may repeat rows.",
        ("sql_qa",),
        (
            edit(
                "sql_qa.results:agreement",
                (
                    _COMPARED,
                    "    found = replace(found, rows=tuple(dict.fromkeys(found.rows)))\n"
                    "    wanted = replace(wanted, rows=tuple(dict.fromkeys(wanted.rows)))\n" + _COMPARED,
                ),
            ),
        ),
    ),
    Bug(
        "sql_qa: size for result",
        "A result of the right number of rows and columns is right.",
        ("sql_qa",),
        (edit("sql_qa.scorer:result_agreement", ("agreement(found, right, ordered=ordered)", "shape(found, right)")),),
    ),
    Bug(
        "sql_qa: chatter is free",
        "A query among other text is as good as a query alone.",
        ("sql_qa",),
        (
            edit("sql_qa.query_text:form", ("SURROUNDED * min(len(sql) / len(bare), 1.0)", "1.0")),
            edit("sql_qa.query_text:is_alone", ("len(bare) == len(sql)", "True")),
        ),
    ),
    Bug(
        "sql_qa: writes are passed over",
        "A statement that would change the store is passed over, and the query behind it is paid.",
        ("sql_qa",),
        (edit("sql_qa.query_text:candidates", ("if _WRITE.match(completion):", "if not completion:")),),
    ),
    Bug(
        "sql_qa: weights swapped",
        "The form has the weight of the result, and the result has that of the form.",
        ("sql_qa",),
        (
            replace_entry(sql_qa.WEIGHTS, "form", lambda _: 0.60),
            replace_entry(sql_qa.WEIGHTS, "result", lambda _: 0.10),
        ),
    ),
)


_SUM: Final = "math.fsum([weight * components[name] for name, weight in self.weights.items()])"
_HELD: Final = "min(max(total, 0.0), 1.0)"


def _total(whole: str, broken: str) -> tuple[Plant, ...]:
    return (edit("reward:Reward.total", (whole, broken)),)


def _noise(whole: Scorer) -> Scorer:
    generator = random.Random(0)

    def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
        scored = whole(completion, prompt, reference, databases)
        noisy = {name: min(value * generator.uniform(0.95, 1.0), 1.0) for name, value in scored.components.items()}
        return scored._replace(components=noisy)

    return score


def _kept_by_prompt(whole: Scorer) -> Scorer:
    kept: dict[str, Score] = {}

    def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
        if prompt not in kept:
            kept[prompt] = whole(completion, prompt, reference, databases)
        return kept[prompt]

    return score


def _one_behind(whole: Scorer) -> Scorer:
    waiting: list[Score] = []

    def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
        waiting.append(whole(completion, prompt, reference, databases))
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return score


def _first_reference(whole: Scorer) -> Scorer:
    kept: list[Reference | None] = []

    def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
        kept.append(reference)
        return whole(completion, prompt, kept[0], databases)

    return score


def _with_prompt(whole: Scorer) -> Scorer:
    def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
        return whole(f"{prompt}\n{completion}", prompt, reference, databases)

    return score


TOTALS: Final = (
    Bug("constant", "Every completion earns a half.", ("sentiment", "insights"), _total(_HELD, "0.5")),
    Bug(
        "sign flipped",
        "The worse a completion, the more it earns.",
        ("sentiment", "insights"),
        _total(_HELD, f"1 - {_HELD}"),
    ),
    Bug(
        "binary",
        "A completion earns everything or nothing instead of a part (investigation report, 3.1).",
        ("sentiment", "insights"),
        _total(_HELD, "float(total >= 0.5)"),
    ),
    Bug(
        "partial credit cut off",
        "What earns less than 0.8 earns nothing.",
        ("sentiment", "insights"),
        _total(_HELD, "total * (total >= 0.8)"),
    ),
    Bug(
        "clipped at a half",
        "No completion earns more than a half.",
        ("sentiment", "insights"),
        _total(_HELD, "min(max(total, 0.0), 0.5)"),
    ),
    Bug(
        "rounded to tenths",
        "Small errors vanish in the rounding.",
        ("sentiment", "insights"),
        _total(_HELD, f"round({_HELD}, 1)"),
    ),
    Bug(
        "weights forgotten",
        "All components weigh the same.",
        ("sentiment", "insights"),
        _total(_SUM, "math.fsum(components.values()) / len(components)"),
    ),
    Bug(
        "best component only",
        "The best component is the reward.",
        ("sentiment", "insights"),
        _total(_SUM, "max(components.values())"),
    ),
    Bug(
        "unknown is full marks",
        "What the reference does not know earns everything.",
        ("sentiment",),
        (edit("reward:fill_unknown", ("min(mean, 1.0) if value is None", "1.0 if value is None")),),
    ),
    Bug(
        "no number",
        "No stars earn NaN.",
        ("sentiment",),
        (edit("sentiment.scorer:_stars_agreement", ("0.0 if found is None", 'float("nan") if found is None')),),
    ),
    Bug("noise", "Rewards vary from call to call.", ("sentiment",), (wrap("sentiment", _noise),)),
    Bug("stale cache", "A prompt's first reward is kept.", ("sentiment",), (wrap("sentiment", _kept_by_prompt),)),
    Bug("one behind", "Each answer gets the reward before it.", ("sentiment",), (wrap("sentiment", _one_behind),)),
    Bug("first reference for all", "One reference is for all.", ("sentiment",), (wrap("sentiment", _first_reference),)),
    Bug(
        "prompt scored too",
        "The completion is scored together with the prompt before it.",
        ("sentiment", "sql_qa", "insights"),
        tuple(wrap(task, _with_prompt) for task in ("sentiment", "sql_qa", "insights")),
    ),
)


def _as_push(whole: Scorer) -> Scorer:
    push, weights = TASKS["push"].rewards["v4.2"], reward_of("insights", "grounded").weights

    def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:
        found = push.score(completion, prompt, reference, databases)
        return Score(dict(zip(weights, found.components.values(), strict=False)))

    return score


def _draft_is_answer(whole: float) -> float:
    return 1.0


_BY_NAME: Final = {bug.name: bug for bug in (*PARSING, *SENTIMENT, *SQL, *TOTALS)}
HISTORIC: Final = (
    *(
        _BY_NAME[name]
        for name in (
            "no decimal comma",
            "boolean as integer",
            "stars may be broken",
            "text as boolean",
            "strict JSON only",
            "truncation paid",
            "repair not capped",
            "binary",
            "constant",
            "sql_qa: likeness for execution",
            "sql_qa: chatter is free",
        )
    ),
    Bug(
        "scale of 2",
        "The reward of one task goes up to 2 while the others' go up to 1.",
        ("sentiment",),
        (edit("reward:Reward.total", ("min(max(total, 0.0), 1.0)", "2 * total")),),
    ),
    Bug(
        "scored as push", "An analysis is scored as a push, by its words.", ("insights",), (wrap("insights", _as_push),)
    ),
    Bug(
        "narrow word list",
        "Names in a query may have no words but the question's and the tables'.",
        ("sql_qa",),
        (
            replace_attribute(query_text, "_QUERY_WORDS", lambda _: frozenset()),
            edit("sql_qa.query_text:_name_beginnings", ('*read_lexicon("query_names")', "*()")),
        ),
    ),
    Bug(
        "endless thought",
        "A thought that never ended counts as an answer.",
        ("sentiment",),
        (replace_entry(FORM, Reading.DRAFT, _draft_is_answer), replace_entry(TRUST, Reading.DRAFT, _draft_is_answer)),
    ),
    Bug(
        "no length cliff",
        "A long answer with the right one somewhere earns as much as that alone.",
        ("sentiment",),
        (
            edit("text.parser:ParsedObject.trust_alone", ("1.0 if alone else NOT_ALONE", "1.0")),
            edit("text.parser:ParsedObject.trust", (" * ramp(self.padding, *PADDING)", "")),
        ),
    ),
)
"""Bugs of the project's first versions: each cost a training, or was found by people just before one."""
