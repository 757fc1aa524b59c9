"""Corruptions make the answer false, and rewrites keep it true, by checks that share nothing with rewards."""

import json
import re
from collections.abc import Iterable
from typing import Any

import pytest

from schemas.tasks import TaskName
from tasks.audit.critic.alteration import Case
from tasks.audit.critic.critic import ALTERATIONS, case_of
from tasks.audit.critic.sql_qa import rows_of as rows_given
from tests.tasks.audit.critic import fresh_cases
from tests.tasks.audit.critic.fresh_cases import SEED, Altered, altered, named

NUMBER = re.compile(r"\d+(?:\.\d{3})*(?:,\d+)?")
OTHER_OBJECTS = {"main_complaint", "reasoning", "churn_risk", "risk_score"}
"""Fields that a rewrite may say otherwise."""


def rewrites(task: TaskName) -> list[Altered]:
    found = [each for each in altered(task) if each.alteration.kind == "rewrite"]
    assert found
    return found


def fields_of(completion: str) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(re.sub(r"^\s*```json|```\s*$", "", completion))
    return fields


def lines_of(case: Case) -> dict[str, str]:
    return dict(re.findall(r"^([^:\n]+): (.+)$", case.prompt, re.MULTILINE))


def table_of(case: Case) -> list[list[str]]:
    return [line.split(" | ") for line in case.prompt.split("\n") if " | " in line]


def value(cell: str) -> float:
    found = NUMBER.search(cell)
    assert found
    return float(found[0].replace(".", "").replace(",", "."))


@pytest.mark.parametrize("task", ["extraction", "sentiment", "churn"])
def test_a_rewritten_object_has_the_same_fields(task: TaskName) -> None:
    for each in rewrites(task):
        good, found = fields_of(each.case.answer), fields_of(each.completion)

        assert found.keys() == good.keys(), each.alteration.name
        kept = {name: good[name] for name in good.keys() - OTHER_OBJECTS}
        assert kept.items() <= found.items(), each.alteration.name
        if each.alteration.name.startswith("layout"):
            assert found == good


@pytest.mark.parametrize(("task", "field"), [("extraction", "churn_risk"), ("churn", "risk_score")])
def test_a_rewritten_risk_says_the_same(task: TaskName, field: str) -> None:
    for each in rewrites(task):
        good, found = fields_of(each.case.answer)[field], fields_of(each.completion)[field]

        assert abs(good - found) <= 0.11


def test_a_rewritten_reason_has_the_numbers_of_the_profile() -> None:
    for each in rewrites("churn"):
        if "cerca de" in each.completion or each.alteration.name.startswith(("layout", "risk")):
            continue
        given = set(NUMBER.findall(each.case.prompt))

        assert set(NUMBER.findall(fields_of(each.completion)["reasoning"])) <= given, each.completion


@pytest.mark.parametrize(("name", "line"), [("false_orders", "Pedidos"), ("false_days", "Dias desde a última compra")])
def test_a_false_number_of_a_reason_is_not_the_profiles(name: str, line: str) -> None:
    for each in named("churn", name):
        found = NUMBER.findall(fields_of(each.completion)["reasoning"])

        assert found
        assert lines_of(each.case)[line] not in found


def test_a_false_silence_or_habit_is_not_the_shoppers() -> None:
    for each in named("churn", "false_silence", "false_habit", "false_opinion"):
        reason, lines = fields_of(each.completion)["reasoning"], lines_of(each.case)
        days, orders = int(lines["Dias desde a última compra"]), int(lines["Pedidos"])

        assert not ("semana passada" in reason and days < 14)
        assert not ("mais de um ano" in reason and days > 365)
        assert not ("todos os meses" in reason and orders > 1)
        assert not ("única vez" in reason and orders == 1)
        assert not ("nota máxima" in reason and lines["Última nota"].startswith(("4", "5")))
        assert not ("pior nota" in reason and lines["Última nota"].startswith("1"))


@pytest.mark.parametrize(
    ("task", "deciding"), [("sentiment", "polarity"), ("extraction", "sentiment"), ("churn", "churn")]
)
def test_an_opposite_answer_decides_otherwise(task: TaskName, deciding: str) -> None:
    for each in named(task, "opposite", "everything_opposite"):
        assert fields_of(each.completion)[deciding] != fields_of(each.case.answer)[deciding]


def test_an_invented_complaint_is_not_what_the_review_is_about() -> None:
    labelled = {
        row.review_id: row.reference["fields"] for row in fresh_cases.rows_of("extraction", fresh_cases.store(0))
    }
    invented = [each for each in ALTERATIONS["extraction"] if each.name.startswith("invented_")]
    by_chance = count = 0
    for row in fresh_cases.rows_of("extraction", fresh_cases.unlabelled_store()):
        true = labelled.get(row.review_id)
        completions = [each.apply(case_of(row), SEED) for each in invented]
        for completion in [text for text in completions if text is not None and true is not None]:
            count += 1
            by_chance += fields_of(completion)["complaint_category"] == (true or {})["complaint_category"]

    assert count > 40
    assert by_chance <= 0.02 * count


def test_a_push_with_another_offer_has_other_numbers_or_fewer_words() -> None:
    for each in named("push", "other_amount", "dropped_condition", "turned_round"):
        offer = str(each.case.reference["offer"])

        assert offer.lower() not in each.completion.lower(), each.completion


def test_a_push_for_another_product_does_not_name_its_own() -> None:
    for each in named("push", "other_product"):
        assert str(each.case.reference["product"]) not in each.completion.lower()


def test_a_rewritten_push_fits_the_phone_and_names_product_and_numbers() -> None:
    for each in rewrites("push"):
        product, offer = str(each.case.reference["product"]), str(each.case.reference["offer"])

        assert product.lower() in each.completion.lower(), each.completion
        assert len(each.completion) <= 160
        if not each.alteration.name.startswith("offer_"):
            assert offer.lower() in each.completion.lower(), each.completion
            assert set(NUMBER.findall(each.completion)) == set(NUMBER.findall(offer))


def claims(each: Altered) -> Iterable[tuple[list[str], dict[str, float]]]:
    """Yield the rows that the added claim names, and the column that it is about."""
    header, *rows = table_of(each.case)
    claim = each.completion.removeprefix(each.case.answer)
    places = {row[0]: re.search(rf"\b(?:{row[0]}|{row[0][0].upper()}{row[0][1:]})\b", claim) for row in rows}
    named_rows = sorted((found.start(), row) for row, found in places.items() if found)
    for place, title in enumerate(header[1:], 1):
        if title.lower() in claim:
            yield [row for _, row in named_rows], {row[0]: value(row[place]) for row in rows}


def test_a_false_leader_is_the_last_of_the_table() -> None:
    for each in named("insights", "false_leader"):
        for rows, column in claims(each):
            assert column[rows[0]] == min(column.values()) < max(column.values()), each.completion


def test_a_false_last_is_the_leader_of_the_table() -> None:
    for each in named("insights", "false_last"):
        for rows, column in claims(each):
            assert column[rows[0]] == max(column.values()) > min(column.values()), each.completion


def test_a_false_comparison_and_a_false_tie_are_of_different_values() -> None:
    for each in named("insights", "false_comparison", "false_tie"):
        for rows, column in claims(each):
            assert column[rows[0]] != column[rows[1]], each.completion


def test_a_moved_number_is_not_in_its_row() -> None:
    for each in named("insights", "number_of_another_row", "moved_number"):
        facts = {str(fact) for fact in each.case.reference["facts"]}
        said = re.findall(r"^- ([^:]+: .*?)\. ", each.completion, re.MULTILINE)

        assert len(set(said) - facts) == 1, each.completion


def test_a_rewritten_analysis_has_a_heading_three_items_and_no_row_of_another_table() -> None:
    for each in rewrites("insights"):
        lines = each.completion.split("\n")
        _, *rows = table_of(each.case)

        assert lines[0].startswith("#")
        assert sum(line.startswith(("- ", "* ", "1.", "2.", "3.")) for line in lines) >= 3
        assert sum(any(row[0].lower() in line.lower() for row in rows) for line in lines) >= 3


def test_a_rewritten_analysis_says_numbers_of_the_table_or_of_its_sums() -> None:
    derived = {"rounded", "ratio", "sums", "points"}
    for each in rewrites("insights"):
        if each.alteration.name in derived or each.alteration.name == "numbered":
            continue
        given = set(NUMBER.findall(each.case.prompt))

        assert set(NUMBER.findall(each.completion)) <= given, each.completion


def alike(one: object, other: object) -> bool:
    """Return whether two cells are the same for a reader: half a cent more or less is rounding."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) < 0.011
    return one == other


UNRUNNABLE = ("fenced", "fenced_with_lines", "formatted", "comment_before", "comment_after", "semicolon_on_a_line")


def test_a_false_query_gives_other_rows_on_a_third_store_too() -> None:
    other = fresh_cases.witness(2)
    false = [
        each
        for each in altered("sql_qa")
        if each.alteration.kind == "corruption" and each.completion.startswith("SELECT") and ";" not in each.completion
    ]
    differ = [rows_given(each.case.answer, other) != rows_given(each.completion, other) for each in false]
    checked = [
        different
        for each, different in zip(false, differ, strict=True)
        if "comment" not in each.alteration.name and each.alteration.name not in ("name_that_insults", "padding")
        if "\n" not in each.completion
    ]

    assert len(checked) > 500
    # A third store may have none of what was asked for, and then both give nothing.
    assert sum(checked) >= 0.85 * len(checked)


def test_a_rewritten_query_gives_the_same_rows_on_a_third_store_too() -> None:
    other = fresh_cases.witness(2)
    for each in rewrites("sql_qa"):
        if each.alteration.name not in UNRUNNABLE:
            right, found = rows_given(each.case.answer, other), rows_given(each.completion.rstrip("; \n"), other)

            assert right is not None, each.completion
            assert found is not None, each.completion
            pairs = zip(sorted(right, key=repr), sorted(found, key=repr), strict=True)
            assert all(alike(one, another) for rows in pairs for one, another in zip(*rows, strict=True))
