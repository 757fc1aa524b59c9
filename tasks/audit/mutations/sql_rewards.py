"""Bugs of sql_qa."""

from typing import Final

from tasks.audit.mutations.breaking import Mutant, edit, replace_entry
from tasks.commerce.sql_qa import scorer as sql_qa

_COMPARED: Final = "    if found.rows == wanted.rows:"

SQL: Final = (
    Mutant(
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
    Mutant(
        "sql_qa: one store",
        "Results are compared on the first copy of the store only.",
        ("sql_qa",),
        (edit("sql_qa.scorer:_counted", ("strict=True))", "strict=True))[:1]")),),
    ),
    Mutant(
        "sql_qa: the best store counts",
        "Of the copies of the store the one counts on which the query does best.",
        ("sql_qa",),
        (edit("sql_qa.scorer:result_agreement", ("return min(", "return max(")),),
    ),
    Mutant(
        "sql_qa: order ignored",
        "The rows may come in any order, also where the question asks for one.",
        ("sql_qa",),
        (edit("sql_qa.scorer:result_agreement", ("is_ordered(reference_sql)", "False")),),
    ),
    Mutant(
        "sql_qa: errors are full marks",
        "A query that does not run is compared with nothing, and nothing differs.",
        ("sql_qa",),
        (edit("sql_qa.results:agreement", ("return 0.0", "return 1.0")),),
    ),
    Mutant(
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
    Mutant(
        "sql_qa: reference ignored",
        "Every query that reads the store is right, as if the reference were unknown.",
        ("sql_qa",),
        (edit("sql_qa.scorer:score", ("if wanted is None:", "if True:")),),
    ),
    Mutant(
        "sql_qa: rounding demanded",
        "A result that is not rounded as the reference's is wrong.",
        ("sql_qa",),
        (edit("sql_qa.results:_same_cell", ("abs_tol=TOLERANCE", "abs_tol=0.0")),),
    ),
    Mutant(
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
    Mutant(
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
    Mutant(
        "sql_qa: size for result",
        "A result of the right number of rows and columns is right.",
        ("sql_qa",),
        (edit("sql_qa.scorer:result_agreement", ("agreement(found, right, ordered=ordered)", "shape(found, right)")),),
    ),
    Mutant(
        "sql_qa: chatter is free",
        "A query among other text is as good as a query alone.",
        ("sql_qa",),
        (
            edit("sql_qa.query_text:form", ("SURROUNDED * min(len(sql) / len(bare), 1.0)", "1.0")),
            edit("sql_qa.query_text:is_alone", ("len(bare) == len(sql)", "True")),
        ),
    ),
    Mutant(
        "sql_qa: writes are passed over",
        "A statement that would change the store is passed over, and the query behind it is paid.",
        ("sql_qa",),
        (edit("sql_qa.query_text:candidates", ("if _WRITE.match(completion):", "if not completion:")),),
    ),
    Mutant(
        "sql_qa: weights swapped",
        "The form has the weight of the result, and the result has that of the form.",
        ("sql_qa",),
        (
            replace_entry(sql_qa.WEIGHTS, "form", lambda _: 0.60),
            replace_entry(sql_qa.WEIGHTS, "result", lambda _: 0.10),
        ),
    ),
)
