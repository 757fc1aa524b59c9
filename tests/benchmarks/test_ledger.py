"""The ledger's rows: what its page names is what is run."""

from benchmarks.ledger.__main__ import PAGE, rows


def test_each_row_of_the_page_is_read() -> None:
    page = PAGE.read_text(encoding="utf-8")
    found = rows(page)
    assert len(found) == sum(line.startswith("| ") and "| `" in line for line in page.splitlines())
    assert len(found) > 50
    assert all(row["command"] and row["code"].isdigit() for row in found)
    assert any(" | " in row["command"] for row in found)
