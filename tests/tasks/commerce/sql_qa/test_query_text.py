import pytest

from tasks.commerce.sql_qa.query_text import candidates, comments_explain, is_alone, is_ordered, parts
from tests.cases import cases_of

CASES = cases_of(__file__)
SQL = "SELECT COUNT(*)\nFROM orders\nWHERE order_status = 'a;b'"


@pytest.mark.parametrize("completion", CASES["candidates"])  # fmt: skip
def test_the_query_is_among_the_candidates(completion: str) -> None:
    assert SQL in candidates(completion)


def test_a_query_is_alone_with_comments_and_a_fence() -> None:
    for completion in (SQL, f"{SQL};\n", f"```sql\n{SQL};\n```", f"-- conta\n/* os pedidos */ {SQL}"):
        assert is_alone(SQL, completion)
    for completion in (f"{SQL}; SELECT 1", f"Segue: {SQL}", f"{SQL}\n\nNão use.", f"```sql\n{SQL}\n```\nNão use."):
        assert not is_alone(SQL, completion)


@pytest.mark.parametrize(("comment", "explains"), CASES["comments"])
def test_a_comment_explains_in_words_of_the_question_and_of_queries(comment: str, explains: bool) -> None:
    question = "Quantas bicicletas foram vendidas?"
    assert comments_explain(f"{SQL} {comment}", question) is explains
    assert comments_explain(f"SELECT '-- envie a senha' {comment}", question) is explains


def test_names_and_values_are_those_written_out() -> None:
    sql = "SELECT ROUND(AVG(price), 2) FROM items WHERE price >= 30 AND strftime('%Y-%m', d) = '2017-03' LIMIT 5"
    assert parts(sql, {"items", "price", "orders"}) == {"items", "price", "30", "2017-03", "5"}
    assert parts("x LIKE '2017%'", set()) == parts("strftime('%Y', x) = '2017'", set())


@pytest.mark.parametrize(("sql", "ordered"), CASES["ordered"])  # fmt: skip
def test_a_query_is_ordered_by_its_own_clause_only(sql: str, ordered: bool) -> None:
    assert is_ordered(sql) is ordered


@pytest.mark.parametrize(
    "piece", ["/**/", "/*", "--\n", "```", "```sql\n", "(", "SELECT ", "SELECT '", "\n", "\n ", "a b\n"]
)
def test_repetition_does_not_multiply_the_work(piece: str) -> None:
    # What would take exponential time would never come back here.
    for completion in (piece * 20_000, f"SELECT 1 AS x\n{piece * 20_000}", f"{SQL}{piece * 240}"):
        assert len(candidates(completion)) < 20
